#include "testgen/flips/put_right.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#include <algorithm>
#include <cstring>

#include "agent/process/target_memory.h"
#include "agent/process/traced_program.h"
#include "testgen/derive/traced_replay.h"
#include "testgen/flips/used_pointers.h"
#include "testgen/verify/replays.h"

namespace recrash {
namespace {

constexpr size_t kMostReplays = 3;
// The same value may be loaded again from where it was not found.
constexpr int kMostTimes = 3;
constexpr double kSeconds = 10;

class Attempt {
 public:
  Attempt(const TestReport& report, const FlippedPointer& pointer, const ReturnOfFailing& failing)
      : report_(report), pointer_(pointer), failing_(failing) {}

  // True: the innermost function has returned. kRefused: the replay did not come to the failure.
  Result<bool> Run(Replays* replays, const ReplayToFailure& replay);
  // The replay came to the failure with another value.
  bool had_another() const { return others_ > 0; }

 private:
  bool Failed(TracedProgram& program);
  bool PutRegistersRight(pid_t thread);
  void PutMemoryRight(pid_t process);
  bool IsFlipped(uint64_t word);

  const TestReport& report_;
  const FlippedPointer& pointer_;
  const ReturnOfFailing& failing_;
  bool is_there_ = false;  // the pointer, at this stop
  int times_ = 0;
  int others_ = 0;  // stops at which it was another value
  bool has_returned_ = false;
};

bool Attempt::IsFlipped(uint64_t word) {
  is_there_ = is_there_ || word == pointer_.value;
  return pointer_.IsSo(word);
}

// Only at the failing instruction, and where a register or memory has the very value.
bool Attempt::PutRegistersRight(pid_t thread) {
  user_regs_struct now;
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &now) != 0 || now.rip != report_.failing_thread()->registers.pc())
    return false;
  for (unsigned long long* value : {&now.rax, &now.rbx, &now.rcx, &now.rdx, &now.rsi, &now.rdi, &now.rbp, &now.r8,
                                    &now.r9, &now.r10, &now.r11, &now.r12, &now.r13, &now.r14, &now.r15, &now.rip})
    if (IsFlipped(*value)) *value ^= 1ull << pointer_.bit;
  return ptrace(PTRACE_SETREGS, thread, nullptr, &now) == 0;
}

void Attempt::PutMemoryRight(pid_t process) {
  const Result<TargetMemory> memory = TargetMemory::Open(process);
  if (!memory) return;
  std::vector<uint8_t> bytes;
  for (const Region& region : report_.memory) {
    bytes.resize(region.bytes.size());
    const size_t size = memory->Read(region.address, bytes);
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, &bytes[at], sizeof word);
      if (!IsFlipped(word)) continue;
      word ^= uint64_t{1} << pointer_.bit;
      memory->Write(region.address + at, {reinterpret_cast<const uint8_t*>(&word), sizeof word});
    }
  }
}

bool Attempt::Failed(TracedProgram& program) {
  is_there_ = false;
  if (times_ == kMostTimes || !PutRegistersRight(program.stopped())) return false;
  if (is_there_ || pointer_.place == kMemory) PutMemoryRight(program.pid());
  (is_there_ ? times_ : others_) += 1;
  return is_there_;
}

Result<bool> Attempt::Run(Replays* replays, const ReplayToFailure& replay) {
  const auto frame = std::ranges::find(report_.replay.frames, replay.frame, &ReplayFrame::index);
  if (frame == report_.replay.frames.end()) return Error{Errc::kRefused, "the frame has no replay"};
  // The innermost function itself returns to the replay.
  const bool is_innermost = replay.frame == failing_.frame;
  Round round;
  round.on_loaded = [&](TracedProgram& program) {
    if (!is_innermost) program.Arm(failing_.address.value);
  };
  round.on_entry = [&](TracedProgram&, uint64_t, uint64_t sp) {
    if (times_ == 0 || sp != failing_.entry_sp.value + sizeof(uint64_t)) return AtEntry::kGoOn;
    has_returned_ = true;
    return AtEntry::kLetGo;
  };
  round.on_signal = [&](TracedProgram& program, int signal) {
    return signal == report_.failure.signal && Failed(program);
  };
  const auto position = static_cast<size_t>(frame - report_.replay.frames.begin());
  const Result<Verdict> verdict = RunTraced(replays, position, replay.start, kSeconds, round);
  if (times_ == 0) return Error{Errc::kRefused, "the replay did not come to the failure"};
  return has_returned_ || (is_innermost && verdict && *verdict == Verdict::kReturned);
}

// Of the memory of the crash first: that has the flipped pointer.
Result<bool> PutRightIn(const TestReport& report, const FlippedPointer& pointer, const ReturnOfFailing& failing,
                        const std::vector<ReplayToFailure>& replays, Replays* prepared) {
  Result<bool> returned = Error{Errc::kRefused, "no frame reproduces"};
  for (size_t i = 0; i < std::min(replays.size(), kMostReplays); ++i) {
    for (const Start& start : {Start{.sealed = true}, replays[i].start}) {
      returned = Attempt(report, pointer, failing).Run(prepared, {replays[i].frame, start});
      if (returned) return returned;
    }
  }
  return returned;
}

}  // namespace

Result<Cure> PutRight(const TestReport& report, const FlippedPointer& pointer, const ReturnOfFailing& failing,
                      const std::vector<ReplayToFailure>& replays, const VerifyOptions& options) {
  VerifyOptions one = options;
  one.seconds_per_frame = kSeconds;
  one.jobs = 1;
  Result<Replays> prepared = Replays::Prepare(report, one);
  if (!prepared) return prepared.error();
  const Result<bool> returned = PutRightIn(report, pointer, failing, replays, &*prepared);
  if (!returned) return returned.error();
  Cure cure = {*returned};
  Attempt outermost(report, pointer, failing);
  if (cure.returns && !outermost.Run(&*prepared, replays.back()) && outermost.had_another())
    cure.made_again_by = replays.back().frame;
  return cure;
}

}  // namespace recrash
