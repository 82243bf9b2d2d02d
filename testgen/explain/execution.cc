#include "testgen/explain/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <thread>

#include "agent/process/proc_files.h"

namespace recrash::explain {
namespace {

constexpr int kStatusRegister = 6;
constexpr int kControlRegister = 7;
constexpr uint64_t kSteppedBit = 1 << 14;  // of the status register
constexpr size_t kLongestInstruction = 15;

uint64_t LengthBits(uint32_t size) {
  switch (size) {
    case 1:
      return 0;
    case 2:
      return 1;
    case 4:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

Extent FilledBy(const user_regs_struct& after) {
  const auto count = static_cast<int64_t>(after.rax);
  if (count <= 0) return {};
  switch (after.orig_rax) {
    case SYS_read:
    case SYS_pread64:
    case SYS_recvfrom:
      return {after.rsi, static_cast<uint64_t>(count)};
    case SYS_getrandom:
      return {after.rdi, static_cast<uint64_t>(count)};
    default:
      return {};
  }
}

uint64_t ValueOf(const user_regs_struct& registers, uint8_t reg) {
  const unsigned long long values[] = {registers.rax, registers.rcx, registers.rdx, registers.rbx,
                                       registers.rsp, registers.rbp, registers.rsi, registers.rdi,
                                       registers.r8,  registers.r9,  registers.r10, registers.r11,
                                       registers.r12, registers.r13, registers.r14, registers.r15};
  return reg < kFirstVector ? values[reg] : 0;
}

uint64_t AddressOf(const user_regs_struct& registers, const CodeOperand& operand) {
  uint64_t address = static_cast<uint64_t>(operand.displacement);
  if (operand.base != kNone) address += ValueOf(registers, operand.base);
  if (operand.index != kNone) address += ValueOf(registers, operand.index) * operand.scale;
  return operand.has_segment ? address + registers.fs_base : address;
}

// Its parent is told of its end only when its tracer has been.
void Execution::End() {
  ended_ = true;
  int status = 0;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, &status, __WALL) >= 0 ? WIFSTOPPED(status) : errno == EINTR) {
  }
}

Status Execution::LetGo() {
  for (Slot& slot : slots_) slot.used = false;
  SetControl();
  ended_ = true;
  if (ptrace(PTRACE_DETACH, pid_, nullptr, nullptr) == 0) return Ok{};
  return Error{Errc::kRefused, "the replay cannot be let go"};
}

Execution::~Execution() {
  if (attached_ && !ended_) End();
}

Status Execution::Attach() {
  if (ptrace(PTRACE_SEIZE, pid_, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) != 0)
    return Error{Errc::kRefused, std::string("the replay may not be traced here: ") + strerror(errno)};
  attached_ = true;
  memory_ = Fd(open(ProcPath(pid_, "mem").c_str(), O_RDONLY | O_CLOEXEC));
  ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr);
  int status = 0;
  while (waitpid(pid_, &status, __WALL) < 0)
    if (errno != EINTR) return Error{Errc::kRefused, "the replay ended before it could be looked at"};
  if (!WIFSTOPPED(status)) {
    ended_ = true;
    return Error{Errc::kRefused, "the replay ended before it could be looked at"};
  }
  ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_);
  const int probe = BreakAt(registers_.rip);
  Clear(probe);
  if (debug_failed_) return Error{Errc::kRefused, "the processor's debug registers cannot be used on this machine"};
  return Ok{};
}

void Execution::SetDebugRegister(int number, uint64_t value) {
  const size_t offset = offsetof(user, u_debugreg) + static_cast<size_t>(number) * sizeof(uint64_t);
  if (ptrace(PTRACE_POKEUSER, pid_, offset, value) != 0) debug_failed_ = true;
}

void Execution::SetControl() {
  uint64_t control = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].used) continue;
    control |= 1ull << (2 * i);
    if (slots_[i].is_watch) control |= (1ull | LengthBits(slots_[i].size) << 2) << (16 + 4 * i);
  }
  SetDebugRegister(kControlRegister, control);
}

int Execution::Take(const Slot& slot) {
  const auto free = std::ranges::find(slots_, false, &Slot::used);
  if (free == slots_.end()) return -1;
  *free = slot;
  const auto number = static_cast<int>(free - slots_.begin());
  SetDebugRegister(number, slot.address);
  SetControl();
  return number;
}

int Execution::BreakAt(uint64_t instruction) { return Take({.used = true, .address = instruction}); }

int Execution::Watch(uint64_t address, uint32_t size) {
  return Take({.used = true, .is_watch = true, .address = address, .size = size});
}

void Execution::Clear(int slot) {
  if (slot < 0) return;
  slots_[static_cast<size_t>(slot)].used = false;
  if (!ended_) SetControl();
}

bool Execution::Read(uint64_t address, std::span<uint8_t> out) const {
  return pread(memory_.get(), out.data(), out.size(), static_cast<off_t>(address)) == static_cast<ssize_t>(out.size());
}

std::optional<uint64_t> Execution::ReadWord(uint64_t address, uint32_t size) const {
  uint64_t value = 0;
  if (size > sizeof value || !Read(address, {reinterpret_cast<uint8_t*>(&value), size})) return std::nullopt;
  return value;
}

Status Execution::SetRegisters(const user_regs_struct& registers) {
  registers_ = registers;
  if (ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_) == 0) return Ok{};
  return Error{Errc::kRefused, "the replay's registers cannot be set"};
}

const CodeInstruction& Execution::CodeAt(uint64_t pc) {
  const auto [found, is_new] = code_->try_emplace(pc);
  if (!is_new) return found->second;
  std::array<uint8_t, kLongestInstruction> bytes{};
  const ssize_t size = pread(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(pc));
  found->second = DecodeCode(std::span(bytes).first(size > 0 ? static_cast<size_t>(size) : 0), pc);
  return found->second;
}

bool Execution::watches() const {
  return std::ranges::any_of(slots_, [](const Slot& slot) { return slot.used && slot.is_watch; });
}

void Execution::NoteWatched() {
  for (Slot& slot : slots_)
    if (slot.used && slot.is_watch) slot.before = ReadWord(slot.address, slot.size).value_or(0);
}

// The debug registers do not see what the kernel writes.
std::optional<Stop> Execution::WrittenByKernel() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!slot.used || !slot.is_watch) continue;
    // The same bytes again are a write, too.
    const bool is_filled = FilledBy(registers_).Overlaps(slot.address, slot.size);
    if (is_filled || ReadWord(slot.address, slot.size).value_or(slot.before) != slot.before)
      return Stop{Stop::kKernelWrote, static_cast<int>(i)};
  }
  return std::nullopt;
}

Stop Execution::Continue() { return Resume(watches() ? PTRACE_SYSCALL : PTRACE_CONT); }

Stop Execution::Step() { return Resume(PTRACE_SINGLESTEP); }

Stop Execution::Resume(int request) {
  if (ended_) return {};
  for (;;) {
    if (ptrace(static_cast<__ptrace_request>(request), pid_, nullptr, pending_signal_) != 0) {
      ended_ = true;
      return {};
    }
    pending_signal_ = 0;
    if (!begun_) {
      begun_ = true;
      begin_();
    }
    int status = 0;
    pid_t who = 0;
    // It runs for microseconds or until its end: first without a sleep.
    for (int tries = 0; (who = waitpid(pid_, &status, __WALL | WNOHANG)) == 0; ++tries) {
      if (Clock::now() > deadline_) {
        End();
        return {};
      }
      if (tries > 200) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (who < 0 || !WIFSTOPPED(status)) {
      ended_ = true;
      return {};
    }
    if (ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_) != 0) {
      ended_ = true;
      return {};
    }
    if (const std::optional<Stop> stop = Look(status, request)) return *stop;
  }
}

// Nothing: it goes on.
std::optional<Stop> Execution::Look(int status, int request) {
  const int signal = WSTOPSIG(status);
  if (signal == (SIGTRAP | 0x80)) {
    __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_EXIT)
      return WrittenByKernel();
    NoteWatched();
    return std::nullopt;
  }
  if (status >> 16 != 0) return std::nullopt;
  if (signal == SIGTRAP) {
    if (const std::optional<Stop> stop = LookAtTrap()) return stop;
    return request == PTRACE_SINGLESTEP ? std::optional(Stop{Stop::kStepped}) : std::nullopt;
  }
  pending_signal_ = signal;
  if (signal == fault_.signal && (fault_.pc == 0 || registers_.rip == fault_.pc)) return Stop{Stop::kFailed};
  return std::nullopt;
}

std::optional<Stop> Execution::LookAtTrap() {
  const size_t offset = offsetof(user, u_debugreg) + kStatusRegister * sizeof(uint64_t);
  const auto hit = static_cast<uint64_t>(ptrace(PTRACE_PEEKUSER, pid_, offset, nullptr));
  ptrace(PTRACE_POKEUSER, pid_, offset, nullptr);
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].used && (hit >> i & 1) != 0)
      return Stop{slots_[i].is_watch ? Stop::kWritten : Stop::kAtInstruction, static_cast<int>(i)};
  return (hit & kSteppedBit) != 0 ? std::optional(Stop{Stop::kStepped}) : std::nullopt;
}

}  // namespace recrash::explain
