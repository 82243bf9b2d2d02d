// The last steps of a replay: the modules' data, the thread control block, and the call.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_

#include <linux/prctl.h>
#include <stdint.h>

#include "testgen/replay/guest/call.h"
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

// A module's thread-local variables, where they have moved relative to the thread control block.
struct TlsCopy {
  uint64_t live;
  uint64_t recorded;
  uint64_t size;
};

// Memory of this process that was put aside.
struct Saved {
  uint64_t address;
  uint64_t size;
  uint64_t copy;
};

constexpr int kMostTlsModules = 256;
constexpr int kMostKeptRanges = 16;
constexpr int kMostSaved = 1024;

struct Restore {
  KeptWord* kept;  // words that stay live
  size_t kept_count;
  LiveRun* runs;  // data of modules, translated
  size_t run_count;
  prctl_mm_map memory_map;
  uint64_t tid_offset;
  uint64_t* current_break;  // libc's __curbrk
  TlsCopy tls_copies[kMostTlsModules];
  int tls_copy_count;
  bool tls_moved;
  // Memory of the program's agent, which a replay does not restore.
  Range kept_ranges[kMostKeptRanges];
  int kept_range_count;
  // Pages that the agent keeps read-only in a program that runs: the call must find them so, or it would run over a
  // place where it crashed.
  Range sealed;
  // In place alone: what comes back after the call.
  Saved saved[kMostSaved];
  int saved_count;
  uint64_t saved_fs;
  prctl_mm_map saved_memory_map;
};

// Once, in the parent: translates the modules' recorded data, remembers what stays live.
void PrepareRestore();

// A call that is ready but for the memory it runs in.
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
  StreamPlace streams[kMostStreams];    // to rewind
  int stream_count;
  plan::Slot* held;  // null: the call begins at once
};

// Puts recorded memory in the place of ours and calls the function. Returns when the function returns; nothing but raw
// system calls works then.
void RestoreAndCall(const PreparedCall& call);

// For a replay in place: saves the memory that it will change, and puts it back, since tests go on after it.
void SaveLive();
void PutLiveBack();

// Recorded bytes, translated or not; false where the report has none.
bool ReadRecorded(uint64_t address, void* out, uint64_t size);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RESTORE_H_
