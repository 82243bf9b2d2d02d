// Pairs the subject's modules with the recorded ones, and translates recorded words into live ones.
//
//   LoadMissingModules();
//   FindModules();
//   const uint64_t entry = ToLive(frame.entry);
//
// "Live" is what this process has; "recorded" is what the dead process had.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_MODULES_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_MODULES_H_

#include <stddef.h>
#include <stdint.h>

#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

struct Range {
  uint64_t start = 0;
  uint64_t end = 0;
  bool Contains(uint64_t address) const { return address >= start && address < end; }
};

struct LiveModule {
  const plan::Module* recorded = nullptr;  // null: the dead process did not have it
  const char* path = nullptr;              // "": the program
  Range live;
  Range recorded_range;
  Range got_plt;  // live; empty when the module is bound at start and the table read-only
  Range relro;    // live
  uint64_t eh_frame_header = 0;
  Range code[4];  // live executable segments
  int code_count = 0;
  Range data[4];  // live writable segments
  int data_count = 0;
  Range opaque[16];  // live; tables of the linker and unwinder, into which no pointer of a program points
  int opaque_count = 0;
  uint64_t tls_block = 0;
  uint64_t tls_size = 0;
  size_t tls_id = 0;
  uint64_t ghost = 0;  // where the recorded image of a rebuilt module is mapped
  bool rebuilt() const { return recorded && (recorded->flags & plan::kOtherBuild); }
  bool moved() const { return live.start != recorded_range.start; }
};

constexpr int kMostModules = 512;

struct Modules {
  LiveModule all[kMostModules];
  int count;
  uint64_t lowest;  // of all recorded ranges that moved
  uint64_t highest;
  uint64_t pointer_guard;
};

// Loads what the dead process had loaded at run time, from the files that the host chose: a report may name any.
void LoadMissingModules();

// Fills world.modules. REQUIRES: all modules are loaded.
void FindModules();

struct ModuleList {
  LiveModule* first;
  int count;
  LiveModule* begin() const { return first; }
  LiveModule* end() const { return first + count; }
};
// Returns all modules of this process in the order of loading.
ModuleList AllModules();
// Each returns null where there is none.
const LiveModule* FindLive(uint64_t live_address);
const LiveModule* ProgramModule();
const LiveModule* ModuleOf(const plan::Module* recorded);
const LiveModule* ModuleAt(int32_t index);  // in Header::modules
// Returns whether the page at `live` holds data that stays writable.
bool IsWritable(const LiveModule& module, uint64_t live);

// Returns a word of recorded memory as it has to be here. Words that only look like pointers stay as they are: of words
// into code, only starts of functions are translated; of words into tables of the unwinder, none. When all modules had
// moved, 482 of 563 frames reproduced with this filter, 477 without.
uint64_t Translate(uint64_t word);
// Translates each word of a range in place.
void TranslateRange(uint64_t address, uint64_t size);
// Translate an address that is known to be one: without the filter.
uint64_t ToLive(uint64_t recorded_address);
uint64_t ToRecorded(uint64_t live_address);

// Sets the dead process's fs:0x30. glibc mixes it into the code addresses that it keeps.
void SetPointerGuard(uint64_t guard);

// Calls `visit` for each module that was rebuilt since the crash.
template <typename Visitor>
void ForEachRebuilt(Visitor visit) {
  for (LiveModule& module : AllModules()) {
    if (module.rebuilt()) visit(module);
  }
}

// Writes a name for the code at `live_pc`: "FormatName(char const*)", or "libfoo.so+0x1234".
void NameCode(uint64_t live_pc, char* out, size_t size);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_MODULES_H_
