// Anonymous files that go to the subject: the plan (plan.h), and the queue of replays.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_

#include <cstdint>
#include <span>

#include "agent/base/fd.h"

namespace recrash {

// Makes a file that is inherited over exec, under a number so high that no recorded descriptor has it. None, and errno
// says why, where there is no room for it.
Fd MakeInheritedFile(const char* name, uint64_t size);

// Writes all of it, or returns false.
bool WriteAt(const Fd& file, uint64_t offset, std::span<const uint8_t> bytes);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_
