// The plan: all that the guest needs of a report, as one flat file of plain structs.
//
// BuildPlan writes it into an anonymous file. The subject inherits the descriptor, whose number stands in the
// environment as RECRASH_PLAN_FD, and maps the file privately. The contents of memory lie at page-aligned offsets. So
// heaps and stacks are mapped from the file: nothing is copied that a replay does not touch, and each child starts from
// the same bytes. Both ends come from one build; kVersion catches an installation that is half old.
//
// Addresses are recorded ones unless a name says "live". A Text is an offset in one table of NUL-terminated strings; 0
// is the empty string.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PLAN_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PLAN_H_

#include <cstdint>

#include "recrash/replay.h"
#include "shadowstack/abi.h"
#include "testgen/literals/shape_kind.h"
#include "testgen/replay/plan/fill.h"

namespace recrash::plan {

constexpr uint64_t kMagic = 0x314e414c50524352ull;  // "RCRPLAN1"
constexpr uint32_t kVersion = 19;
constexpr uint64_t kPageSize = 4096;
// An access so far below a stack's end is an overflow: a frame may skip the guard page by its own size.
constexpr uint64_t kOverflowReach = 1ull << 20;

constexpr char kPlanVariable[] = "RECRASH_PLAN_FD";
constexpr char kReplayVariable[] = "RECRASH_REPLAY";  // set in the subject: the agent in it stays idle

// By getpriority(kMarkerWhich, 0) the subject says that all modules are loaded. Its tracer then lets go of it.
constexpr uint64_t kMarkerWhich = 0x5243;

// Exit status of a subject that found a recorded range occupied. The kernel draws other addresses for its next start.
constexpr int kCollisionStatus = 113;
// Exit status of a subject that could not go on, and has said why in Queue::problem.
constexpr int kProblemStatus = 114;

using Text = uint32_t;

struct Array {
  uint64_t offset;
  uint64_t count;
};

enum Flags : uint32_t {
  kRebuilt = 1,         // the program, or a library of its own, is another build than the one that crashed
  kInProcess = 2,       // no fork: under a debugger
  kVerify = 4,          // work off the Queue; no test library
  kShowOutput = 8,      // descriptors 1 and 2 stay as they are
  kStackOverflow = 16,  // the failing access was just below the failing thread's stack
  kSandbox = 32,        // only calls of an allow-list, no changes to files
  kBeforeMain = 64,     // the failing thread was in the program's static initialisers
  kHasTwin = 128,       // tests of functions that the program does not have run in a twin
  kIsTwin = 256,        // one test runs, in a twin: what it says goes to Inquiries::in_twin
};

enum ModuleFlags : uint32_t {
  kProgram = 1,
  kLoader = 2,  // ld.so: its data stays live
  kVdso = 4,
  kOtherBuild = 8,  // the file is another build now; set only with Flags::kRebuilt
};

// A variable in the thread-local block of the recorded build, and where the other build has it.
struct ThreadLocal {
  uint64_t offset;
  uint64_t size;
  uint64_t new_offset;
};

struct Module {
  uint64_t base;
  uint64_t size;
  uint64_t tls_size;  // of the recorded build's thread-local segment; kOtherBuild only
  uint64_t tls_id;    // by which the dead process's loader knew that segment; 0: it has none, or that is not known
  uint32_t flags;
  Text path;      // recorded
  Text to_load;   // the file to load; empty: none, or the loader maps it with the program
  Text build_id;  // of the file that the tool has read, lower-case hex; empty: it has none, or it does not matter
  Array symbols;  // of Symbol; of the program, and where kOtherBuild
  // kOtherBuild, where the block has changed: of ThreadLocal. Other variables begin as in a new thread.
  Array thread_locals;
  Text not_carried;  // for people: thread-local variables that had a value at the crash and have none here; empty: none
  uint32_t moved_thread_locals;  // whether the block has changed
};

enum class MappingKind : uint32_t {
  kMemory = 1,    // private writable: zero pages with runs in them
  kReserved = 2,  // no access
  kFile = 3,      // contents of a file
  kEntry = 4,     // mapped at a frame's entry, not at the crash: accessible in replays of that entry state alone
};

struct Mapping {
  uint64_t start;
  uint64_t end;
  MappingKind kind;
  uint32_t protection;  // PROT_*
  uint64_t file_offset;
  Text path;
  int32_t input;  // kFile: index of the input that it maps, or -1
};

// Bytes of recorded memory, page-aligned in address, size and file offset.
struct Run {
  uint64_t address;
  uint64_t size;
  uint64_t offset;  // from Header::contents
  int32_t module;   // index of the module whose data this is, or -1
};

struct Range {
  uint64_t start;
  uint64_t end;
};

// EntryState of report.h, as a row of offsets. Its arguments are in Frame::words.
struct EntryState {
  uint64_t brk_end;
  Array mappings;    // of Range, inside mappings of kEntry
  Array files;       // of OpenFile; instead of Header::files
  Array not_loaded;  // of uint32_t, indexes of modules
  Array memory;      // of Run, each inside one module or one mapping
  uint64_t copied_depth;
};

// Bytes that are written over restored memory; of any size and alignment.
struct Patch {
  uint64_t address;
  uint64_t size;
  uint64_t offset;
};

struct OpenFile {
  int32_t descriptor;
  int32_t flags;  // to open it with
  uint64_t offset;
  Text path;      // empty: /dev/null in its place
  int32_t input;  // index of the input that it is, or -1; one that is held comes before `path`
  Text absent;    // for people: what a replay lacks that has /dev/null in its place; empty: nothing
};

// A regular file that the dead process was given.
struct Input {
  uint64_t size;
  uint64_t offset;   // of its content in the plan
  Text path;         // absolute
  uint32_t held;     // 0: no content
  uint32_t differs;  // not held, and the file of that path is not there or has changed
};
constexpr uint64_t kMostInputs = 256;

// A name by which the dead process may have known it, as NormalizePath makes it.
struct InputName {
  Text path;
  uint32_t input;
};

struct Word {
  uint8_t location;  // abi::Location
  uint8_t parameter;
  uint16_t stack_offset;
  uint16_t size;
  uint16_t source_offset;
  uint8_t bytes[16];
};

// A parameter that points to a stream.
struct Stream {
  uint8_t parameter;
  uint8_t kind;  // StreamKind of report.h
  uint16_t offset;
};

// Shape of shapes.h. `element` and the shapes of members are places in Header::shapes; at place 0 nothing can be
// written.
struct Shape {
  ShapeKind kind;
  uint32_t element;
  uint64_t size;
  uint64_t count;
  uint64_t offset;
  uint32_t is_signed;
  uint32_t is_character;
  Text name;
  uint32_t reserved;
  Array members;      // of ShapeMember
  Array enumerators;  // of Enumerator
};

struct ShapeMember {
  Text name;  // empty: it has none
  uint32_t shape;
  uint64_t offset;
  uint32_t bit_offset;
  uint32_t bit_size;  // 0: no bit-field
};

struct Enumerator {
  int64_t value;
  Text name;
  uint32_t reserved;
};

// A parameter as tests name it.
struct Parameter {
  Text name;
  uint32_t number;
  uint32_t shape;
  uint32_t indirect;  // an object by value, of which the call gets the address
};

// A value that recrash wrote into the frame's test.
struct Literal {
  uint64_t digest;
  Text path;
  uint32_t reserved;
};

struct Frame {
  uint32_t index;
  Text name;
  uint64_t entry;  // recorded; in a rebuilt module an offset from the new one's base
  uint64_t entry_sp;
  int32_t rebuilt_module;  // index of the module that `entry` is an offset in, or -1
  Text problem;            // why it cannot be called, else empty
  Array words;
  Array fields;  // of Patch; those of depth 1 come first
  Array streams;
  Array caught;             // of Text: mangled types that callers on the recorded stack catch; "": any
  Array variables;          // of Patch: those whose layout is another one in this build
  Text dangling;            // the parameter that leads to a dead local; empty: none
  Text in_place;            // "g in place of f" where f is gone and g is called; empty: the function itself is
  Text added;               // parameters of that which nothing was recorded for, and are 0; empty: none
  Array entry_state;        // of EntryState: one, or none
  Start start;              // from what it reproduced when it was verified
  uint32_t shallow_fields;  // how many are of depth 1; the others are of depth 2
  uint32_t inlined;         // a copy out of line is called
  uint32_t is_gone;         // this build does not have the function; then there is a problem
  uint32_t reserved;
  Array parameters;  // of Parameter, as they lie in this build; none: that is not known
  Array literals;    // of Literal
};

enum SymbolFlags : uint32_t {
  kFunction = 1,
  kTranslated = 2,  // the new build has it too
  kCopied = 4,      // an object whose contents move to the new build; of unequal sizes, the smaller one
  kTool = 8,        // recrash's own code in the program: no place of a failure
};

// A symbol of a recorded module, by offset from its base, and where the file under test has it.
struct Symbol {
  uint64_t offset;
  uint64_t size;
  uint64_t new_offset;
  uint64_t new_size;
  Text name;  // demangled
  uint32_t flags;
};

// A function of the C++ runtime inside the program itself (-static-libstdc++), by offset from the program's base.
struct RuntimeSymbol {
  Text name;
  uint64_t offset;
};

struct Header {
  uint64_t magic;
  uint32_t version;
  uint32_t flags;

  abi::FailureKind failure_kind;
  int32_t signal;
  Text failure_text;  // for people: printable, as report_path and the names of frames are
  uint64_t failure_pc;
  Text abort_message;
  Text exception_type;
  Text exception_what;
  Text reason;

  // The failing place. place_start and place_end in a rebuilt module: offsets from the new one's base.
  uint64_t place_pc;
  uint64_t place_start;
  uint64_t place_end;
  Array place_copies;  // of Range: the failing line in copies of inlined functions, for frames that call these
  Text report_path;

  uint64_t brk_start;
  uint64_t brk_end;
  uint64_t fs_base;
  uint64_t stack_start;  // of the failing thread, as mapped for the replay
  uint32_t mxcsr;        // 0: not known
  uint32_t fcw;
  uint64_t main_arena;  // recorded address of glibc's main_arena, or 0

  Text working_directory;
  Text test_library;
  double seconds_per_frame;
  uint64_t memory_limit;
  int32_t queue_fd;      // kVerify: of the Queue
  uint32_t workers;      // kVerify: replays at a time
  int32_t inquiries_fd;  // of Inquiries; -1: nobody answers
  uint32_t reserved;

  // Of this start of the subject.
  uint32_t attempt;  // how many collisions came before
  uint32_t traced;   // the launcher forces bases and waits for the marker

  Array modules;
  Array mappings;
  Array runs;
  Array patches;
  Array unlocks;  // of Patch: mutexes of malloc's arenas, which no thread holds here
  Array files;
  Array inputs;
  Array input_names;
  Array frames;
  Array runtime_symbols;
  Array watched;  // of Range: memory of which a replay notes the pages that it touches
  Array shapes;   // of Shape
  Array absent;   // of Range: memory that the process had and the report does not have
  Array text;
  uint64_t contents;  // where the contents of runs begin, page-aligned
};

enum SlotState : uint32_t {
  kIdle = 0,    // the tool's
  kPosted = 1,  // to be replayed
  kTaken = 2,   // a worker's
  kDone = 3,    // replayed
  kLost = 4,    // its worker was killed
};

// What a sealed replay looked for and did not find.
enum Missed : uint32_t {
  kNothing = 0,
  kMaybe = 1,   // a file that may be there when it is not sealed
  kLacked = 2,  // the same, and the dead process had it
};

// One replay: what the tool asks for, and what became of it.
struct Slot {
  uint32_t state;  // SlotState
  uint32_t order;  // workers take the slot that has the lowest of those posted
  uint32_t frame;  // index in Header::frames
  Start start;
  uint32_t hold;    // wait for a tracer before the call
  uint32_t pieces;  // of an experiment: how many there are for this slot at Queue::pieces
  Fill fill;        // of these
  double limit;     // processor time in seconds; 0: Header::seconds_per_frame
  int32_t worker;
  Verdict verdict;
  uint32_t missed;  // Missed
  uint32_t held;    // with `hold`: 1 when it waits; a futex
  int32_t process;  // with `hold`: the replay's process, by its number outside
  uint32_t go;      // its futex: the call may begin; set by the tool
  double seconds;
  double computed;   // processor time, in seconds
  uint64_t address;  // kReproduced, kDifferentFailure: si_addr
  uint64_t pc;       // the same: recorded; the innermost of the program's own, as far as there is one
  int32_t code;      // the same: si_code
  char text[1000];
};

// Memory that tool and subject share. The tool fills slots and posts them; workers of the subject take them, replay,
// and hand them back; the tool may then fill them again. Both sides sleep on a counter that the other one moves. A
// worker wakes the tool only when few slots are left to take, or when a replay timed out.
struct Queue {
  uint32_t started;  // the subject reached the replay at all
  uint32_t posted;   // futex: grows when slots were posted, and at the end
  uint32_t events;   // futex: grows when a slot is handed back
  uint32_t closed;   // no more slots will be posted
  uint32_t count;    // of slots
  uint32_t
      touched;      // where in the file a byte begins for each page of Header::watched, in order: set if it was touched
  uint32_t room;    // Pieces for each slot
  uint64_t pieces;  // where in the file they begin; 0: there are no experiments
  char problem[1000];
  Slot slots[];
};

// What the subject asks of the tool that started it, since only that reads debug information: where in the source a
// replay died, and whether that is the recorded place. Each worker has a question of its own. The one that asks sleeps
// on `state`, the tool on Inquiries::asked.
constexpr uint32_t kMostAsked = 64;
constexpr uint32_t kMostQuestions = 64;

enum QuestionState : uint32_t { kNotAsked = 0, kAsked = 1, kAnswered = 2 };
enum class Same : uint32_t { kNotKnown = 0, kNo = 1, kYes = 2 };

constexpr uint32_t kNobody = UINT32_MAX;

struct CodeAddress {
  uint32_t module;  // index of Header::modules
  uint32_t exact;   // not a return address
  uint64_t offset;  // from the live module's start
};

struct Question {
  uint32_t state;  // QuestionState
  uint32_t count;
  CodeAddress stack[kMostAsked];  // innermost first
  CodeAddress called;             // the function that was called; of module kNobody: not known
  uint32_t thrower;               // plan::Frame::index of the frame that threw; kNobody: none
  Same same;
  char where[512];   // "Parser::Next at parser.cc:86"; empty: not known
  char caught[512];  // mangled types that callers of `thrower` catch, a blank behind each; "*": any
};

// An instruction of the recorded place, or of the rest of its function, in this build. Registers by the processor's
// numbers.
constexpr uint8_t kNoRegister = 0xff;
constexpr uint32_t kMostPlaceCode = 1024;

struct PlaceCode {
  uint64_t offset;  // from the live module's start
  uint32_t module;  // index of Header::modules
  uint32_t copy;    // of the function: out of line, or one inlined call
  uint32_t line;    // in the file of the place
  int32_t displacement;
  uint8_t base;
  uint8_t index;
  uint8_t scale;
  uint8_t is_place;  // of the recorded line itself
  uint8_t accesses;  // memory at base + index * scale + displacement
};

// A test that the tool is to run in the twin, and what it said of its frame there.
struct InTwin {
  uint32_t state;  // QuestionState
  uint32_t frame;  // plan::Frame::index
  Verdict verdict;
  char test[512];  // "Suite.Test"
  char text[1000];
};

struct Inquiries {
  uint32_t asked;  // futex: grows with each question
  InTwin in_twin;
  Question questions[kMostQuestions];
  // What the recorded place is in this build, the same for all replays.
  uint32_t place_state;  // QuestionState; a futex
  uint32_t place_count;
  char place_where[256];  // "parser.cc:86"; empty: not known
  PlaceCode place[kMostPlaceCode];
};

}  // namespace recrash::plan

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_H_
