// All that the replay library knows: the plan, and what each part of the library keeps. The only other state is the
// stack pointer that the assembly of call.cc saves, and what checks/allocator.cc needs where a block alone is known.
//
//   for (const plan::Frame& frame : TableOf<plan::Frame>(world.plan->frames)) puts(TextOf(frame.name));
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_WORLD_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_WORLD_H_

#include <stddef.h>
#include <stdint.h>

#include "testgen/replay/checks/checkers.h"
#include "testgen/replay/checks/recorded_blocks.h"
#include "testgen/replay/given/values.h"
#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/interpose.h"
#include "testgen/replay/guest/keeper.h"
#include "testgen/replay/guest/late_modules.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/restore.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/sandbox.h"
#include "testgen/replay/place/place_traps.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/replay/sandbox/filter.h"

namespace recrash::replay {

struct World {
  char* bytes;  // the plan, mapped privately: translated in place
  const plan::Header* plan;
  int plan_fd;
  int null_fd;             // /dev/null, for what the sandbox redirects
  int absent_fd;           // of memory that the report does not have; 0: none
  uint64_t address_space;  // bytes in use before the first replay
  // Set once recorded memory is back. From then on, functions that stand in for the C library's change what they do.
  volatile bool restored;
  // For each watched page whether a replay has touched it; shared with the tool. Null: none is watched.
  uint8_t* touched;

  Modules modules;
  LateModules late;
  Runtime runtime;
  Checkers checkers;
  RecordedBlocks blocks;
  RealFunctions real;
  Inputs inputs;
  Keeper keeper;
  Run run;
  GivenValues given;
  Restore restore;
  PlaceInBuild place;
  StreamFunctions streams;
  Filter filter;
  StandIns stand_ins;
  void (*leave_call)();  // for signal handlers: ends the child or, in place, the call
};

extern World world;

inline bool Has(plan::Flags flag) { return world.plan->flags & flag; }

inline const char* TextOf(plan::Text text) { return world.bytes + world.plan->text.offset + text; }

template <typename T>
struct Table {
  T* first;
  size_t count;
  T* begin() const { return first; }
  T* end() const { return first + count; }
  T& operator[](size_t i) const { return first[i]; }
};

template <typename T>
Table<T> TableOf(const plan::Array& array) {
  return {reinterpret_cast<T*>(world.bytes + array.offset), array.count};
}

inline Table<plan::Word> WordsOf(const plan::Frame& frame) { return TableOf<plan::Word>(frame.words); }

// Returns the address of a run's bytes in the plan.
inline uint64_t ContentOf(const plan::Run& run) {
  return reinterpret_cast<uint64_t>(world.bytes + world.plan->contents + run.offset);
}

// Tells the verifying tool, or stderr, why there can be no replay, and ends the subject.
[[noreturn]] void Problem(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_WORLD_H_
