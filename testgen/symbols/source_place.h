// Where code of a build stands in the source, and whether a crash of another build happened there.
//
//   SourcePlaces places(report, files, search_paths);
//   const SeenPlace seen = places.At(stack, called);
//   fmt::print("{}{}\n", seen.where, seen.same == true ? ", as recorded" : "");
//
// Two builds are compared by the functions of the program's own on the stack, inlined calls among them: what is inlined
// in one build is a function in the other. A function that only one build has does not count, since an edit may have
// split or renamed it. Lines do not count either.
#ifndef RECRASH_TESTGEN_SYMBOLS_SOURCE_PLACE_H_
#define RECRASH_TESTGEN_SYMBOLS_SOURCE_PLACE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/place_code.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

// An address in a module of a report, as the module is loaded now.
struct CodeAddress {
  size_t module = 0;    // index in Report::modules
  uint64_t offset = 0;  // from the module's base
  bool exact = false;   // an instruction that was about to run, not a return address
};

struct SeenPlace {
  std::string where;         // "Parser::Next at parser.cc:86"; empty: no code of the program's own, or no symbols
  std::optional<bool> same;  // whether that is the recorded place; nothing if debug information is missing
};

class SourcePlaces {
 public:
  // `files` has for each module of the report the file that is loaded now; "" for those without own code.
  // `search_paths`: where unstripped files may lie. REQUIRES: the report outlives the object.
  SourcePlaces(const TestReport& report, const std::vector<std::string>& files,
               const std::vector<std::string>& search_paths);

  // Returns where the innermost code of the program's own on the stack stands. `stack` is innermost first. `called` is
  // the function that a test has called, if it is known.
  SeenPlace At(std::span<const CodeAddress> stack, std::optional<CodeAddress> called);

  // Returns the mangled types, "" for any, that callers of the frame catch in this build. A build in which the callee
  // throws nothing has no handlers around its call, so those of the recorded build do not tell all. `frame` is a
  // ReplayFrame::index. Callers are those on the recorded stack.
  std::vector<std::string> CaughtFrom(uint32_t frame);

  // Returns the code of the recorded place in this build.
  PlaceCode RecordedPlace();
  // The other way round: where an address of that code lies. Nothing if it lies in no module.
  std::optional<CodeAddress> AddressOf(TargetAddress now) const;

 private:
  TargetAddress Now(const CodeAddress& address) const;
  bool IsRecorded(const std::string& function);
  // The addresses of the functions of that name.
  const std::set<TargetAddress>& Here(const std::string& function);
  // Where the recorded function left its frame to a function of a library; nothing if it did not. `chain` is of this
  // build, inside which there are `outside` frames of libraries.
  std::optional<TargetAddress> LeftByJump(const std::vector<SourceFrame>& chain, size_t outside);

  const TestReport& report_;
  Report now_;                   // its modules are those of today
  std::vector<int> module_now_;  // by module of the report: index in now_.modules, or -1
  std::optional<Symbols> symbols_;
  // All functions, by their names as SourceName gives them.
  std::optional<std::set<std::string>> recorded_;
  std::optional<std::map<std::string, std::set<TargetAddress>>> here_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_SOURCE_PLACE_H_
