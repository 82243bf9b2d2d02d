// The recorded inputs under their old names and descriptors, and the working directory of a replay.
//
//   PrepareInputs();                 // once
//   PrepareFolder(start.sealed);     // before each replay, in the process that starts it
//   EnterFolder(); SealMappings();   // in the process of the replay
//   const Place place = FindPlace(AT_FDCWD, path);   // in functions that stand in for the C library's
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_INPUTS_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_INPUTS_H_

#include <stddef.h>
#include <stdint.h>

#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

constexpr size_t kLongestPath = 4096;

// The content of an input, in an anonymous file. It is not allocated: once recorded memory is back, the heap is that of
// the dead process.
struct Content {
  int descriptor;  // -1: the report does not hold it
  char path[32];   // under which the file can be opened anew
};

struct Inputs {
  Content contents[plan::kMostInputs];
  char folder[kLongestPath];        // the working directory of the run
  char empty_folder[kLongestPath];  // made by this process, for its runs; "": none yet
  bool folder_is_ours;              // `folder` is `empty_folder`
  bool folder_left;                 // the program has changed its working directory since
  bool sealed;                      // the run is sealed
};

// Puts the contents of held inputs into anonymous files. REQUIRES: recorded memory is not back yet.
void PrepareInputs();

// Returns whether the report holds the content of the input; false for -1.
bool IsHeld(int input);

// Returns whether the file of an input that is not held is missing or has changed. REQUIRES: the input exists.
bool DiffersFromRecorded(int input);

// ---- One run -----------------------------------------------------------------------------------------------------

// Chooses the folder of the next run. A sealed run gets an empty folder that this process makes, and so does a run
// whose recorded folder is gone. The folder has links to the held inputs that lay in the recorded one. The runs of one
// process share it as long as none of them changes it.
void PrepareFolder(bool sealed);
// Removes the folder that PrepareFolder made, if any. Call it after the last run.
void RemoveFolder();
bool IsSealed();

// Changes into the folder of the run. REQUIRES, here and for SealMappings: the process of the run.
void EnterFolder();
// In a sealed run, takes the mappings of inputs away whose content the report does not hold.
void SealMappings();

// ---- For functions that take a path. They make raw system calls only, since recorded memory is back ----------------

// Returns a new descriptor of a held input's content, or -errno. What is opened for writing is a copy of its own.
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

// Returns what stands at a path that the program uses; `folder` is as openat takes it. If a sealed replay looks for
// what may be there unsealed, that is noted, unless the program only writes there.
Place FindPlace(int folder, const char* path, bool only_writes = false);

// Returns the path to hand to the C library for a place; `path` is what the program gave.
const char* PathOf(const Place& place, const char* path);

// Returns the absolute path that the input had.
const char* RecordedPath(int input);

// If `path` is the working directory of the dead process, returns the run's own folder; else null.
const char* FolderFor(const char* path);
// Notes that the program has left the run's folder, or has come back.
void LeaveFolder(bool left);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_INPUTS_H_
