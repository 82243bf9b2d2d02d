// Why a program failed: the trail from the failing instruction back to where the bad value was made, as plain data.
#ifndef RECRASH_TESTGEN_EXPLAIN_EXPLANATION_H_
#define RECRASH_TESTGEN_EXPLAIN_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recrash::explain {

enum class LinkKind : uint8_t {
  kFailed,         // the failing instruction
  kCalled,         // a call that led to it
  kArgument,       // a caller passed the value
  kReturned,       // a call returned it
  kWritten,        // it was stored there
  kComputed,       // it was computed there
  kConstant,       // it is a constant there
  kAddress,        // it is the address of a variable
  kDecided,        // this condition led there
  kAllocated,      // the block was allocated there
  kFreed,          // the block was freed there
  kInput,          // it came from outside
  kLies,           // nothing that lives lies where the value was read
  kUninitialised,  // nobody wrote it since its memory was allocated
  kBefore,         // it was so before what was replayed began
  kLost,           // the trail cannot be followed further
};

// "returned": the word for JSON.
const char* LinkText(LinkKind kind);

// Lines of the source as they are there, the one that is meant among them.
struct Excerpt {
  uint32_t first = 0;  // the number of the first line
  std::vector<std::string> lines;
};

struct Link {
  LinkKind kind = LinkKind::kLost;
  std::string function;     // of the program's own source, as people read it; empty: none is known
  std::string file;         // the path that the debug information gives
  uint32_t line = 0;        // 0: not known
  std::string text;         // what happened there, a clause
  std::string source = {};  // the line, where the source is there
  uint32_t depth = 0;       // 0: on the way to the value; more: on the way to what decided
  int32_t experiment = -1;  // its number in Trail::experiments
  // A replay in which this one thing was otherwise: whether the call returned. Nothing: it was not tried.
  std::optional<bool> undone = {};
  std::string value = {};  // that was passed, returned or is constant there: "0x7f12"; empty: the text has it, or none
  Excerpt around = {};     // the line and some around it; empty: the source is not there
};

struct Explanation {
  std::string failure;      // "SIGSEGV reading 0x20"
  std::vector<Link> links;  // from the failure backwards
  std::string began;        // the function whose call was replayed
  bool is_exact = false;    // from its entry, else from the memory of the crash
  uint64_t replays = 0;
  double seconds = 0;
  bool is_cut_short = false;  // the time was over
};

// The same words in the terminal and on pages. What they hold of names comes from the report as it is.
std::string ClauseOf(const Link& link);                    // the text, and what undoing it did
std::string ReplayedText(const Explanation& explanation);  // "replayed 7 times from the entry of main, in 0.3 s"
// The value was there when the replay began, in the memory of the crash: what came before is not known.
bool IsCutOff(const Explanation& explanation);

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_EXPLANATION_H_
