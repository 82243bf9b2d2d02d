// What the pass emits, and what the agent in the dying process hands to the collector: every layout that crosses a
// process or a build boundary inside recrash.
//
// The pass stores the argument words of a function in an alloca of its frame (the *record*) and describes that record
// in one *descriptor* in the section `.recrash_map` of the program: where the record lies, relative to which register,
// and which word is which parameter. Nothing reads the section in the process; the developer's tools read it from the
// ELF file. Layouts are packed by hand, little-endian, x86-64; offsets are asserted because they are a file format.
#ifndef RECRASH_SHADOWSTACK_ABI_H_
#define RECRASH_SHADOWSTACK_ABI_H_

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

// Marks functions that the crash path may enter: no locks, no allocation, nothing initialised on first use. Clang 20
// and later check it. Elsewhere it marks them for readers; agent.UndefinedSymbols checks the symbols they need.
#if defined(__clang__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::nonblocking) && __clang_major__ >= 20
#define RECRASH_SIGNAL_SAFE [[clang::nonblocking]]
#endif
#endif
#ifndef RECRASH_SIGNAL_SAFE
#define RECRASH_SIGNAL_SAFE
#endif

namespace recrash::abi {

// ---- The map ---------------------------------------------------------------------------------------------------

// Not loaded: the tools read it from the file.
constexpr char kMapSection[] = ".recrash_map";
constexpr uint8_t kMapVersion = 2;
// Builds before version 2 have this section, loaded and with other entries. Their arguments are read from DWARF.
constexpr char kOldMapSection[] = "recrash_map";

// Where the callee finds a word at its first instruction.
enum class Location : uint8_t {
  kRdi = 0,
  kRsi = 1,
  kRdx = 2,
  kRcx = 3,
  kR8 = 4,
  kR9 = 5,
  kR10 = 6,     // static chain (`nest`)
  kXmm0 = 16,   // kXmm0 + n is xmm<n> (its low `size` bytes: 4, 8 or 16; ymm/zmm beyond that are not kept), n < 8
  kStack = 64,  // at stack_offset bytes above the stack pointer on entry plus eight (the first stack argument is 0)
  kUnknown = 255,
};

enum class WordKind : uint8_t {
  kArgument = 1,  // the record holds the word itself, or a piece of a larger parameter, as passed
  kField = 2,     // the record holds a copy of *(parameter + source_offset), taken on entry (depth 1, used fields)
  // The record holds a copy of *(pointer + source_offset), taken on entry (depth 2). The pointer is the one at
  // parameter
  // + stack_offset; the record has it as a kField before this word.
  kDeepField = 3,
};

// One descriptor. Behind it come, in this order:
//  - word_count MapWords;
//  - the record's place as the assembler prints a memory operand (`8(%rsp)`, `-56(%rbp)`, `(%rbx)`), NUL-terminated;
//    empty where no word is stored;
//  - zero bytes up to the next multiple of four.
// %rsp stands for its value at the label: the CFA less the CFA's offset there.
//
// A function may have several descriptors: one wherever stores stand, with the words alone, and one where the fields
// are copied, with words and fields. The reader uses the descriptor with the greatest label <= pc. The words of one
// argument stand together, its fields directly behind them.
struct MapEntry {
  uint64_t label;          // file address of the instruction after the stores
  uint64_t function_hash;  // HashLinkageName of the function that the record was made for: after link-time inlining a
                           // label may lie in another function, and then its record is not that function's
  uint16_t size;           // of the whole entry with its words, text and padding
  uint8_t version;         // kMapVersion
  uint8_t word_count;      // at most 255
};

struct MapWord {
  uint8_t kind;            // WordKind
  uint8_t location;        // Location; kUnknown for fields
  uint8_t parameter;       // DWARF's number of the source parameter, from 1 (`this` is 1); 0 when not known
  uint8_t flags;           // WordFlags
  uint16_t size;           // bytes in the record
  uint16_t record_offset;  // from the record's start
  uint16_t source_offset;  // kArgument: where this piece lies in the parameter; else in what is pointed to
  uint16_t stack_offset;   // for Location::kStack; kDeepField: where the pointer lies in what the parameter points to
};

enum WordFlags : uint8_t {
  kIndirect = 1,  // a class passed by value through a pointer (non-trivial): the word is the address of the object
  kByVal = 2,     // bytes of an aggregate passed in memory: the words lie in the argument area itself
  // The parameter's variable is never assigned, and DWARF has its value wherever the argument is still in use. The
  // reader asks DWARF first: stores outside the function's first block need not have run.
  kFollowed = 4,
};

constexpr uint16_t kNotStored = 0xffff;  // as record_offset: debug information alone has the word

static_assert(offsetof(MapEntry, function_hash) == 8 && offsetof(MapEntry, word_count) == 19);
constexpr size_t kMapEntrySize = 20;  // of a MapEntry in the file: its words follow without padding
static_assert(sizeof(MapWord) == 12 && offsetof(MapWord, stack_offset) == 10);

// FNV-1a, 64 bit, over the linkage name without a `.llvm.<digits>` suffix (ThinLTO promotion adds it).
constexpr uint64_t HashLinkageName(const char* name, size_t length) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < length; ++i) {
    if (length - i > 6 && name[i] == '.' && name[i + 1] == 'l' && name[i + 2] == 'l' && name[i + 3] == 'v' &&
        name[i + 4] == 'm' && name[i + 5] == '.')
      break;
    hash = (hash ^ static_cast<uint8_t>(name[i])) * 0x100000001b3ull;
  }
  return hash;
}

// ---- Patchable entries -------------------------------------------------------------------------------------------

// The bytes directly before the entry of a function that was compiled in a second-chance mode: these, which no compiler
// emits as padding (`ud2`, then text), and one byte of PrefixFlags. Never executed while the entry is as compiled.
constexpr uint8_t kEntryPrefix[7] = {0x0f, 0x0b, 'r', 'c', 'e', 'n', 't'};
constexpr size_t kEntryPrefixSize = sizeof kEntryPrefix + 1;

enum PrefixFlags : uint8_t {
  kMayHaveJumpTable = 1,  // the first instruction has two bytes or more, unless -fcf-protection puts another before it
};

// ---- What the build says of itself -----------------------------------------------------------------------------

// A text that the pass leaves in a program: the path of the collector that is installed with it. Weak and hidden.
constexpr char kCollectorPlace[] = "__recrash_collector_place";

// An ELF note (owner "recrash") in `.note.recrash`, one for each distinct text: linkers keep notes under --gc-sections.
// Its text is "mode=<references|full|second-chance|references+second-chance|adaptive>;version=<identifier>".
constexpr char kNoteSection[] = ".note.recrash";
constexpr char kNoteOwner[] = "recrash";
constexpr uint32_t kNoteBuild = 1;
constexpr char kAdaptiveNote[] = "mode=adaptive;";  // how it begins where the agent is to watch every entry

// ---- From the client to the collector --------------------------------------------------------------------------

constexpr uint64_t kCrashMagic = 0x3148534152434552ull;  // "RECRASH1"
constexpr uint32_t kCrashVersion = 1;
// The same layout, of a program that withholds or masks memory: older collectors, which would keep it, refuse it.
constexpr uint32_t kDiscreetVersion = 2;

enum class FailureKind : uint8_t {
  kSignal = 1,
  kException = 2,  // uncaught, seen in std::terminate (its SIGABRT follows)
  kReported = 3,   // RECRASH_REPORT; the program goes on
};

// DWARF numbers 0..15 (rax rdx rcx rbx rsi rdi rbp rsp r8..r15) and 16 for rip.
constexpr int kRegisterCount = 17;

// The state at a throw, kept because `noexcept` unwinds before std::terminate runs. Each thread has one; its next throw
// overwrites it. `armed` is set while it holds a throw that has not been caught. Behind it lies a second one: the first
// of the exceptions that handlers replaced one by another until the last one was thrown; armed if there is one.
struct ThrowRecord {
  uint64_t armed;
  uint64_t object;                     // the thrown object
  uint64_t registers[kRegisterCount];  // as in the caller of __cxa_throw, just after the call
  uint64_t stack_address;              // where the copied bytes lay
  uint64_t stack_size;
  uint64_t stack_copy;  // where the copy lies in this process
  char type[512];       // demangled by the reader
  char what[1024];      // empty when it is not a std::exception
};

// A value of the program's that leaves the process only masked; size 0: none.
struct MarkedValue {
  uint64_t address;
  uint64_t size;  // and, above kMarkedSize, where the value is by the time of the report
};
constexpr uint64_t kMarkedThroughPointer = 1ull << 63;  // `address` has a pointer to it
constexpr uint64_t kMarkedText = 1ull << 62;            // it ends at its NUL, if that comes before `size`
constexpr uint64_t kMarkedString = 1ull << 61;          // it is the text of a std::string of libstdc++
constexpr uint64_t kMarkedSize = (1ull << 61) - 1;
constexpr uint64_t kMostMarkedText = 4096;

// What the program has marked so far. The collector gets its address.
constexpr uint32_t kMostMarked = 4096;
constexpr uint64_t kMostMarkedBytes = 4 << 20;  // of all values
struct MarkedValues {
  uint32_t count;    // of the places in use, those of values that are not marked any more among them
  uint32_t refused;  // not 0: one did not fit, so that its program leaves no memory any more
  uint64_t bytes;
  MarkedValue values[kMostMarked];
};

// By what it begins with, the client is found in a process that has not failed.
constexpr uint64_t kPlacesMagic[2] = {0x8d1f6ae3c29b5470ull, 0x53504352a4e0b7c6ull};
struct ClientPlaces {
  uint64_t magic[2];
  uint64_t self;       // address of this
  uint64_t marked;     // MarkedValues*, or 0
  uint64_t additions;  // Additions*, or 0
};

// Why a report holds no memory.
constexpr uint8_t kNotDumpable = 1;  // and the program has not asked for its memory to be kept
constexpr uint8_t kCannotMask = 2;   // some of what the program marks

// Lives in the dying process; its address is the collector's third argument.
struct CrashRecord {
  uint64_t magic;
  uint32_t version;
  uint32_t size;
  FailureKind kind;
  uint8_t without_memory;  // kNotDumpable, or kCannotMask; 0: the report holds memory
  uint8_t has_replaced;    // 1: a second ThrowRecord lies behind the one at throw_record
  uint8_t reserved;        // 0
  int32_t pid;
  int32_t tid;
  int32_t depth_option;   // reserved, 0
  uint64_t monotonic_ns;  // when the handler was entered
  siginfo_t siginfo;
  ucontext_t context;     // registers of the failing thread
  uint8_t fpstate[512];   // FXSAVE image that context points to
  uint64_t throw_record;  // ThrowRecord* of the failing thread, or 0
  char reason[512];       // of RECRASH_REPORT
  char options[512];      // RECRASH_OPTIONS as the process saw it at start-up
  // The collector answers by writing this with process_vm_writev, so that the client can print it.
  char report_path[1024];
};

static_assert(sizeof(ThrowRecord) == 1712 && offsetof(ThrowRecord, stack_address) == 152);
static_assert(sizeof(CrashRecord) == 3704 && offsetof(CrashRecord, pid) == 20 &&
              offsetof(CrashRecord, context) == 168 && offsetof(CrashRecord, throw_record) == 1648 &&
              offsetof(CrashRecord, report_path) == 2680);

}  // namespace recrash::abi

#endif  // RECRASH_SHADOWSTACK_ABI_H_
