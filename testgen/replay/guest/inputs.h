// The recorded inputs under their old names and descriptors, and the folder that a replay stands in.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_INPUTS_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_INPUTS_H_

#include <stddef.h>
#include <stdint.h>

#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

constexpr size_t kLongestPath = 4096;

// Memory of our own: what malloc gave is the dead process's once it is back.
struct Content {
  int descriptor;  // -1: not held
  char path[32];
};

struct Inputs {
  Content contents[plan::kMostInputs];
  char folder[kLongestPath];        // of the run
  char empty_folder[kLongestPath];  // this process's own, for its runs; "": none yet
  bool folder_is_ours;              // `folder` is `empty_folder`
  bool folder_left;
  bool sealed;
};

// Puts the contents of held inputs into anonymous files; once, in a process of its own making still.
void PrepareInputs();

bool IsHeld(int input);

// ---- One run -----------------------------------------------------------------------------------------------------

// Chooses the run's folder; in the parent, before the run. A sealed run, and a run whose recorded folder is gone, gets
// an empty folder of ours, with links to the held inputs that lay in the recorded one. The runs of one process share
// it, as long as none of them changes it.
void PrepareFolder(bool sealed);
// After the last run.
void RemoveFolder();
bool IsSealed();

// In the process of the run.
void EnterFolder();
// Mapped inputs that are not held are taken away.
void SealMappings();

// ---- For functions that take a path; with recorded memory in place they use raw system calls only ------------------

// Descriptor of the content: opened anew for reading, or a copy of its own when it may be written.
int OpenHeld(int input, int flags);

enum class Where {
  kReal,    // as it is
  kHeld,    // the content of `input`
  kHidden,  // sealed: an input that is not held
};

struct Place {
  Where where = Where::kReal;
  int input = -1;
};

// `folder` as openat takes it. A sealed replay's look at what may be there unsealed is noted, unless it only writes.
Place FindPlace(int folder, const char* path, bool only_writes = false);

// What to hand to the C library for it.
const char* PathOf(const Place& place, const char* path);

// The recorded absolute path of an input.
const char* RecordedPath(int input);

// The path is the folder of the dead process: the run's own is to be taken, which this gives.
const char* FolderFor(const char* path);
// The run has left its folder, or come back.
void LeaveFolder(bool left);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_INPUTS_H_
