// The anonymous file in which a plan (plan.h) goes to the subject.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_

#include <cstdint>
#include <span>

#include "agent/base/fd.h"
#include "testgen/replay/plan/plan.h"

namespace recrash {

// Makes an anonymous file that is inherited over exec, under a number so high that no recorded descriptor has it.
Fd MakeInheritedFile(const char* name, uint64_t size);

class PlanFile {
 public:
  // False, and errno says why, where there is no room for it.
  bool Create(uint64_t size);
  // All of it, or false.
  bool WriteAt(uint64_t offset, std::span<const uint8_t> bytes) const;

  int descriptor() const { return fd_.get(); }
  // For the next start of the subject: Header::attempt and Header::traced.
  void SetStart(uint32_t attempt, bool traced) const;

 private:
  Fd fd_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_
