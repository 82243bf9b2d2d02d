// The anonymous file that a plan (plan.h) goes to the subject in.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_

#include <cstdint>
#include <vector>

#include "agent/base/result.h"
#include "testgen/replay/plan/plan.h"

namespace recrash {

// An anonymous file, under a number so high that no recorded descriptor collides with it; inherited over exec.
class PlanFile {
 public:
  PlanFile() = default;
  explicit PlanFile(int descriptor) : descriptor_(descriptor) {}
  PlanFile(PlanFile&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  PlanFile& operator=(PlanFile&& other) noexcept;
  ~PlanFile();
  int descriptor() const { return descriptor_; }
  void SetAttempt(uint32_t attempt) const;
  void ChangeFlags(uint32_t set, uint32_t clear) const;

 private:
  int descriptor_ = -1;
};

// All of it, or false.
bool WriteAt(int descriptor, const void* bytes, uint64_t size, uint64_t offset);

// Moves `descriptor` above the numbers that programs use.
int MoveHigh(int descriptor);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_FILE_H_
