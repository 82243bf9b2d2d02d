#include "agent/process/traced_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "agent/base/text.h"
#include "agent/process/proc_files.h"

namespace recrash {
namespace {

constexpr uint8_t kBreakpoint = 0xcc;
constexpr char kCollector[] = "/recrash-collector";
// Enough for every instruction that is emulated.
constexpr size_t kSavedBytes = 2;

bool IsCollector(pid_t pid) { return ReadProcLink(pid, "exe").ends_with(kCollector); }

// Waits until the thread stops. Returns its wait status; nothing if it has ended.
std::optional<int> WaitForStop(pid_t who) {
  int status = 0;
  while (waitpid(who, &status, __WALL) < 0)
    if (errno != EINTR) return std::nullopt;
  return WIFSTOPPED(status) ? std::optional(status) : std::nullopt;
}

// Kills a process when its time is over.
class Watchdog {
 public:
  Watchdog(pid_t pid, double seconds)
      : thread_([this, pid, seconds](const std::stop_token& stop) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any().wait_for(lock, stop, std::chrono::duration<double>(seconds),
                                                 [] { return false; });
          if (stop.stop_requested()) return;
          expired_ = true;
          kill(pid, SIGKILL);
        }) {}
  bool expired() const { return expired_; }

 private:
  std::atomic<bool> expired_ = false;
  std::jthread thread_;  // the last member: it uses the others
};

// In the child, between fork and exec.
[[noreturn]] void Become(const TracedStart& start, char* const* arguments, char* const* environment, int ready) {
  char byte = 0;
  while (read(ready, &byte, 1) < 0 && errno == EINTR) {
  }
  personality(ADDR_NO_RANDOMIZE);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int null = open("/dev/null", O_RDWR);
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    dup2(descriptor > 0 && start.output >= 0 ? start.output : null, descriptor);
  if (null > 2) close(null);
  if (chdir(start.directory.c_str()) == 0) execve(start.program.c_str(), arguments, environment);
  _exit(127);
}

template <typename T>
bool ReadAt(int memory, uint64_t address, T* out) {
  return pread(memory, out, sizeof *out, static_cast<off_t>(address)) == static_cast<ssize_t>(sizeof *out);
}

// The address of the program's PT_DYNAMIC. PT_PHDR says where the headers were meant to lie; the distance to where they
// lie is the bias.
uint64_t DynamicSection(int memory, uint64_t headers, uint64_t count) {
  uint64_t dynamic = 0;
  uint64_t bias = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ElfW(Phdr) segment;
    if (!ReadAt(memory, headers + i * sizeof segment, &segment)) return 0;
    if (segment.p_type == PT_PHDR) bias = headers - segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_vaddr;
  }
  return dynamic ? bias + dynamic : 0;
}

// Returns where the program's dynamic loader stops for a debugger whenever it has loaded or unloaded something (r_debug
// of <link.h>); 0 for a program that is linked statically. REQUIRES: the program's own code is about to begin; `memory`
// is the open /proc/PID/mem.
uint64_t FindLoaderBreak(pid_t pid, int memory) {
  uint64_t at = DynamicSection(memory, AuxiliaryValue(pid, AT_PHDR), AuxiliaryValue(pid, AT_PHNUM));
  ElfW(Dyn) entry;
  for (; at && ReadAt(memory, at, &entry) && entry.d_tag != DT_NULL; at += sizeof entry) {
    r_debug state;
    if (entry.d_tag == DT_DEBUG && ReadAt(memory, entry.d_un.d_ptr, &state)) return state.r_brk;
  }
  return 0;
}

}  // namespace

bool TracedProgram::Write(uint64_t address, const void* bytes, size_t size) const {
  return pwrite(memory_.get(), bytes, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

void TracedProgram::Arm(uint64_t entry) {
  if (armed_.contains(entry)) {
    Write(entry, &kBreakpoint, 1);  // the library may have been unloaded and loaded again
    return;
  }
  std::vector<uint8_t> original(kSavedBytes);
  if (pread(memory_.get(), original.data(), original.size(), static_cast<off_t>(entry)) != kSavedBytes) {
    return;
  }
  if (Write(entry, &kBreakpoint, 1)) armed_.emplace(entry, std::move(original));
}

void TracedProgram::Disarm(uint64_t entry) {
  const auto found = armed_.find(entry);
  if (found == armed_.end()) return;
  Write(entry, found->second.data(), 1);
  armed_.erase(found);
}

void TracedProgram::Continue(pid_t who, int signal) { ptrace(PTRACE_CONT, who, nullptr, signal); }

Result<int> TracedProgram::Run(const TracedStart& start) {
  Result<int> started = Start(start);
  if (!started) return started;
  Result<int> status = FollowFor(start.seconds);
  if (status && !started_) return Error{Errc::kRefused, start.program + " could not be started"};
  return status;
}

Result<int> TracedProgram::FollowFor(double seconds) {
  Watchdog watchdog(pid_, seconds);
  Result<int> status = Follow();
  if (watchdog.expired())
    return Error{Errc::kRefused, "it had not ended after " + std::to_string(static_cast<int>(seconds)) + " s"};
  return status;
}

Result<int> TracedProgram::Join(pid_t process, double seconds, const std::function<void()>& begin) {
  joined_ = true;
  started_ = true;
  if (const Status status = Seize(process); !status) return status.error();
  memory_ = Fd(open(ProcPath(pid_, "mem").c_str(), O_RDWR | O_CLOEXEC));
  ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr);
  if (!WaitForStop(pid_)) return Error{Errc::kRefused, "it ended before it could be looked at"};
  on_loaded_(*this);
  begin();
  Continue(pid_);
  Result<int> status = FollowFor(seconds);
  if (!status) kill(pid_, SIGKILL);
  return status;
}

Status TracedProgram::Seize(pid_t process) {
  pid_ = process;
  threads_.insert(pid_);
  const long options =
      PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (ptrace(PTRACE_SEIZE, pid_, nullptr, options) == 0) return Ok{};
  return Error{Errc::kRefused, std::string("it may not be traced here: ") + strerror(errno)};
}

Result<int> TracedProgram::Start(const TracedStart& start) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return Error{Errc::kRefused, std::string("no pipe: ") + strerror(errno)};
  const Fd reading(ready[0]);
  Fd writing(ready[1]);
  const std::vector<char*> arguments = ArgumentPointers(start.arguments);
  const std::vector<char*> environment = ArgumentPointers(start.environment);
  pid_ = fork();
  if (pid_ < 0) return Error{Errc::kRefused, std::string("cannot start a process: ") + strerror(errno)};
  if (pid_ == 0) {
    close(writing.Release());  // or it would never see the end of the pipe
    Become(start, arguments.data(), environment.data(), reading.get());
  }
  if (const Status status = Seize(pid_); !status) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    return status.error();
  }
  writing = Fd();
  return 0;
}

Result<int> TracedProgram::Follow() {
  for (;;) {
    int status = 0;
    // Waits only for the joined process's own group: this process may have children that others wait for.
    const pid_t whom = gone_ ? pid_ : joined_ ? -pid_ : -1;
    const pid_t who = waitpid(whom, &status, __WALL);
    if (who < 0 && errno == EINTR) continue;
    if (who < 0) return Error{Errc::kRefused, std::string("lost sight of it: ") + strerror(errno)};
    if (WIFSTOPPED(status)) {
      Stopped(who, status);
      continue;
    }
    threads_.erase(who);
    children_.erase(who);
    if (who == pid_) return status;
  }
}

void TracedProgram::Stopped(pid_t who, int status) {
  const int event = status >> 16;
  const int signal = WSTOPSIG(status);
  if (!threads_.contains(who) && !children_.contains(who)) {
    early_.insert(who);  // the event of its parent says what it is
    return;
  }
  unsigned long message = 0;
  if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
    ptrace(PTRACE_GETEVENTMSG, who, nullptr, &message);
    const auto child = static_cast<pid_t>(message);
    if (event == PTRACE_EVENT_CLONE) {
      threads_.insert(child);
    } else {
      children_.insert(child);
    }
    if (event == PTRACE_EVENT_FORK) Forked(child);
    if (early_.erase(child) && children_.contains(child) + threads_.contains(child)) Continue(child);
    Continue(who);
  } else if (event == PTRACE_EVENT_EXEC) {
    Executed(who);
  } else if (event == PTRACE_EVENT_STOP) {
    Continue(who);
  } else if (signal == SIGTRAP) {
    Trapped(who);
  } else {
    Continue(who, TakesSignal(who, signal) ? 0 : signal);
  }
}

bool TracedProgram::TakesSignal(pid_t who, int signal) {
  stopped_ = who;
  return on_signal_ && threads_.contains(who) && on_signal_(*this, signal);
}

// A forked child has a copy of our breakpoints. They are taken out, and the child is let go.
void TracedProgram::Forked(pid_t child) {
  if (!early_.erase(child)) WaitForStop(child);
  DisarmIn(child);
  ptrace(PTRACE_DETACH, child, nullptr, nullptr);
  children_.erase(child);
}

void TracedProgram::DisarmIn(pid_t child) const {
  const Fd memory(open(ProcPath(child, "mem").c_str(), O_RDWR | O_CLOEXEC));
  for (const auto& [entry, original] : armed_) {
    [[maybe_unused]] const ssize_t written = pwrite(memory.get(), original.data(), 1, static_cast<off_t>(entry));
  }
}

void TracedProgram::Executed(pid_t who) {
  if (who != pid_) {
    if (IsCollector(who)) LetGo();
    ptrace(PTRACE_DETACH, who, nullptr, nullptr);
    children_.erase(who);
    return;
  }
  if (started_) {  // it has become another program
    armed_.clear();
    LetGo();
    return;
  }
  started_ = true;
  memory_ = Fd(open(ProcPath(pid_, "mem").c_str(), O_RDWR | O_CLOEXEC));
  program_entry_ = AuxiliaryValue(pid_, AT_ENTRY);
  Arm(program_entry_);
  Continue(who);
}

void TracedProgram::Trapped(pid_t who) {
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, who, nullptr, &registers) != 0) return;
  const uint64_t entry = registers.rip - 1;
  if (!armed_.contains(entry)) {
    Continue(who, SIGTRAP);  // the program's own
    return;
  }
  registers.rip = entry;
  if (entry == program_entry_) {
    EnteredProgram(who, &registers);
    return;
  }
  if (entry == loader_break_) {
    ptrace(PTRACE_SETREGS, who, nullptr, &registers);
    if (threads_.contains(who)) on_loaded_(*this);
    StepOver(who, entry);
    return;
  }
  stopped_ = who;
  const AtEntry then = threads_.contains(who) ? on_entry_(*this, entry, registers.rsp) : AtEntry::kGoOn;
  if (then == AtEntry::kGoOn && EmulatePush(&registers, entry)) {
    ptrace(PTRACE_SETREGS, who, nullptr, &registers);
    Continue(who);
    return;
  }
  ptrace(PTRACE_SETREGS, who, nullptr, &registers);
  if (then == AtEntry::kLetGo) {
    LetGo();
  } else if (then == AtEntry::kDisarm) {
    Disarm(entry);
    Continue(who);
  } else {
    StepOver(who, entry);
  }
}

void TracedProgram::EnteredProgram(pid_t who, user_regs_struct* registers) {
  ptrace(PTRACE_SETREGS, who, nullptr, registers);
  Disarm(program_entry_);
  program_entry_ = 0;
  loader_break_ = FindLoaderBreak(pid_, memory_.get());
  if (loader_break_) Arm(loader_break_);
  on_loaded_(*this);
  Continue(who);
}

// Most functions begin by saving a register. Doing that here spares a step, half the price of a hit.
bool TracedProgram::EmulatePush(user_regs_struct* registers, uint64_t entry) const {
  const std::vector<uint8_t>& code = armed_.at(entry);
  const bool extended = code[0] == 0x41;
  const uint8_t opcode = extended ? code[1] : code[0];
  if ((opcode & 0xf8) != 0x50) return false;
  const unsigned long long values[] = {registers->rax, registers->rcx, registers->rdx, registers->rbx,
                                       registers->rsp, registers->rbp, registers->rsi, registers->rdi,
                                       registers->r8,  registers->r9,  registers->r10, registers->r11,
                                       registers->r12, registers->r13, registers->r14, registers->r15};
  const uint64_t value = values[(opcode & 7) + (extended ? 8 : 0)];
  if (!Write(registers->rsp - sizeof value, &value, sizeof value)) return false;  // the step will fault as it should
  registers->rsp -= sizeof value;
  registers->rip += extended ? 2 : 1;
  return true;
}

void TracedProgram::StepOver(pid_t who, uint64_t entry) {
  Write(entry, armed_.at(entry).data(), 1);
  ptrace(PTRACE_SINGLESTEP, who, nullptr, nullptr);
  const std::optional<int> status = WaitForStop(who);
  if (!status) return;
  Write(entry, &kBreakpoint, 1);
  const int signal = WSTOPSIG(*status);
  Continue(who, signal == SIGTRAP || *status >> 16 ? 0 : signal);
}

void TracedProgram::LetGo() {
  if (joined_) {
    kill(pid_, SIGKILL);
    return;
  }
  for (const auto& [entry, original] : armed_) Write(entry, original.data(), 1);
  DetachAll();
  armed_.clear();
  gone_ = true;
}

// Detaches new threads that are not known yet as well: while a process has a traced thread, nobody is told that the
// process has ended. A thread that is detached starts no more of them. The process in which the agent makes a report is
// none of the program's threads, but came to us as one.
void TracedProgram::DetachAll() const {
  std::set<pid_t> detached = threads_;
  for (const pid_t thread : threads_) Detach(thread);
  for (bool more = true; more;) {
    more = false;
    for (const pid_t thread : ThreadIds(pid_)) {
      if (!detached.insert(thread).second) continue;
      Detach(thread);
      more = true;
    }
  }
}

// The thread may be running, or stopped by something that we have not been told yet.
void TracedProgram::Detach(pid_t thread) const {
  int signal = 0;
  siginfo_t info{};
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  if (ptrace(PTRACE_GETSIGINFO, thread, nullptr, &info) != 0) {
    const std::optional<int> status = WaitForStop(thread);
    if (!status) return;
    if (*status >> 16 == 0) signal = WSTOPSIG(*status);
  }
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0 && armed_.contains(registers.rip - 1)) {
    signal = 0;  // at one of our breakpoints, which is gone now
    --registers.rip;
    ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
  }
  ptrace(PTRACE_DETACH, thread, nullptr, signal);
}

}  // namespace recrash
