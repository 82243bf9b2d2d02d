// The last steps of a replay: puts back the modules' data and the thread control block, and calls the function.
//
//   PrepareRestore();          // once
//   RestoreAndCall(call);      // in a child
//
// In place it is SaveLive, RestoreAndCall, PutLiveBack.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_

#include <linux/prctl.h>
#include <stdint.h>

#include "testgen/replay/guest/call.h"
#include "testgen/replay/guest/experiment.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

struct KeptWord {
  uint64_t address;
  uint64_t value;
};

struct LiveRun {
  const plan::Module* module;
  uint64_t live;
  uint64_t from;
  uint64_t size;
};

// Memory of this process, and where the bytes are that go there.
struct Piece {
  uint64_t live;
  uint64_t from;
  uint64_t size;
};

constexpr int kMostTlsCopies = 4096;
constexpr int kMostKeptRanges = 16;
constexpr int kMostSaved = 1024;

struct Restore {
  KeptWord* kept;  // words that stay this process's
  size_t kept_count;
  LiveRun* runs;  // data of modules, translated
  size_t run_count;
  prctl_mm_map memory_map;
  uint64_t tid_offset;
  uint64_t* current_break;  // libc's __curbrk
  // The modules' thread-local variables, or single ones. They are copied where one has moved relative to the thread
  // control block.
  Piece tls_copies[kMostTlsCopies];
  int tls_copy_count;
  bool tls_moved;
  // Memory of the agent in the program: a replay does not restore it.
  Range kept_ranges[kMostKeptRanges];
  int kept_range_count;
  // Pages that the agent keeps read-only while the program runs. The call must find them so: a crash may come from a
  // write to them.
  Range sealed;
  uint64_t readable_page;  // the last page of which that is known
  // In place alone: what comes back after the call.
  Piece saved[kMostSaved];
  int saved_count;
  uint64_t saved_fs;
  prctl_mm_map saved_memory_map;
};

// Translates the modules' recorded data, and remembers what stays this process's. Call it once, in the parent.
void PrepareRestore();

// A call, and what has to be restored for it.
struct PreparedCall {
  CallState state;
  struct StackWord {
    uint64_t address;
    uint64_t size;
    uint8_t bytes[16];
  } stack[64];
  int stack_count;
  const plan::EntryState* entry_state;  // null: memory is as at the crash
  plan::Array fields;                   // of plan::Patch, of the depth that is tried
  plan::Array variables;                // of plan::Patch
  StreamPlace streams[kMostStreams];    // to rewind
  int stream_count;
  bool inlined;                  // the function is a copy of the frame's
  plan::Slot* held;              // null: the call begins at once
  double seconds;                // that it may compute; 0: as the plan says
  const Experiment* experiment;  // null: memory is as recorded
};

// Finds AddressSanitizer's shadow, and keeps recorded blocks away from its allocator. Call it once, in the parent.
void PrepareBlocks();

// Puts recorded memory in the place of this process's and calls the function. Returns when the function returns. From
// then on only raw system calls work.
void RestoreAndCall(PreparedCall& call);

// For a replay in place, after which tests go on: saves the memory that RestoreAndCall changes, and puts it back.
void SaveLive();
void PutLiveBack();

// Reads an aligned word of this process; false where that is not possible.
bool ReadLiveWord(uint64_t address, uint64_t* word);

// Copies recorded bytes, which may be translated already. Returns false if the report does not hold all of them.
bool ReadRecorded(uint64_t address, void* out, uint64_t size);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_
