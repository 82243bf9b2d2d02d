// Pairs the subject's modules with the recorded ones, and translates recorded words into live ones.
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
  const plan::Module* recorded = nullptr;
  const char* path = nullptr;  // "": the program
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

// Finds the modules that are in the process; call when all are loaded.
void FindModules();

struct ModuleList {
  LiveModule* first;
  int count;
  LiveModule* begin() const { return first; }
  LiveModule* end() const { return first + count; }
};
// In the order of loading.
ModuleList AllModules();
const LiveModule* FindLive(uint64_t live_address);
const LiveModule* ProgramModule();
const LiveModule* ModuleOf(const plan::Module* recorded);
const LiveModule* ModuleAt(int32_t index);  // in Header::modules
// Does the page of `live` hold data that stays writable?
bool IsWritable(const LiveModule& module, uint64_t live);

// A word of recorded memory as it has to be here. Words that merely look like pointers are left: into code only starts
// of functions are translated, into tables of the unwinder nothing. This took 477 to 482 of 563 frames when all
// modules had moved.
uint64_t Translate(uint64_t word);
void TranslateRange(uint64_t address, uint64_t size);
// An address that is known to be one: no filter.
uint64_t ToLive(uint64_t recorded_address);
uint64_t ToRecorded(uint64_t live_address);

// The dead process's fs:0x30, with which glibc mixes the code addresses that it keeps.
void SetPointerGuard(uint64_t guard);

// Calls `visit` for each module that was rebuilt since the crash.
template <typename Visitor>
void ForEachRebuilt(Visitor visit) {
  for (LiveModule& module : AllModules()) {
    if (module.rebuilt()) visit(module);
  }
}

// "FormatName(char const*)", or "libfoo.so+0x1234".
void NameCode(uint64_t live_pc, char* out, size_t size);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_MODULES_H_
