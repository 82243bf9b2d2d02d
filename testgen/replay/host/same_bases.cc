#include "testgen/replay/host/same_bases.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/text.h"
#include "agent/elf/elf_notes.h"
#include "testgen/replay/plan/plan.h"

namespace recrash {
namespace {

std::string Resolve(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) ? resolved : path;
}

bool HasBuildId(const std::string& path, const std::string& build_id) {
  const Result<std::string> found = ReadBuildId(path);
  return found && !build_id.empty() && *found == build_id;
}

class Tracer {
 public:
  Tracer(pid_t subject, const Report& report, const std::string& program, const std::vector<size_t>& rebuilt)
      : subject_(subject), report_(report), program_(Resolve(program)), used_(report.modules.size()) {
    for (const size_t module : rebuilt) used_[module] = true;
  }

  ForcedBases Run();

 private:
  bool WaitForStop();
  void Redirect(user_regs_struct* registers);
  const Module* FindModule(int descriptor);
  ForcedBases End(Forced outcome);

  pid_t subject_;
  const Report& report_;
  std::string program_;
  std::vector<bool> used_;  // of the report's modules: mapped already, or not to be forced
  int status_ = 0;
  bool redirected_ = false;
  user_regs_struct original_{};
};

// A file's own path decides, else its name together with its build-id: it may have moved since.
const Module* Tracer::FindModule(int descriptor) {
  const std::string link = "/proc/" + std::to_string(subject_) + "/fd/" + std::to_string(descriptor);
  char target[PATH_MAX];
  const ssize_t length = readlink(link.c_str(), target, sizeof target);
  if (length <= 0) return nullptr;
  const std::string path(target, static_cast<size_t>(length));
  const bool is_program = path == program_;
  for (size_t i = 0; i < report_.modules.size(); ++i) {
    const Module& module = report_.modules[i];
    if (used_[i] || module.is_program != is_program) continue;
    const bool same = is_program || module.path == path ||
                      (BaseName(module.path) == BaseName(path) && HasBuildId(link, module.build_id));
    if (!same) continue;
    used_[i] = true;
    return &module;
  }
  return nullptr;
}

void Tracer::Redirect(user_regs_struct* registers) {
  const bool chooses_address = registers->rdi == 0 && !(registers->r10 & MAP_FIXED);
  const int descriptor = static_cast<int>(registers->r8);
  if (!chooses_address || descriptor < 0 || (registers->r10 & MAP_ANONYMOUS)) return;
  const Module* module = FindModule(descriptor);
  if (!module) return;
  original_ = *registers;
  registers->rdi = module->base.value;
  registers->r10 |= MAP_FIXED_NOREPLACE;
  ptrace(PTRACE_SETREGS, subject_, nullptr, registers);
  redirected_ = true;
}

bool Tracer::WaitForStop() {
  while (waitpid(subject_, &status_, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFSTOPPED(status_);
}

ForcedBases Tracer::End(Forced outcome) {
  if (outcome == Forced::kOccupied || outcome == Forced::kRefused) {
    kill(subject_, SIGKILL);
    waitpid(subject_, &status_, 0);
  }
  return {outcome, status_};
}

ForcedBases Tracer::Run() {
  if (!WaitForStop()) return {Forced::kRefused, status_};
  if (ptrace(PTRACE_SETOPTIONS, subject_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) {
    return End(Forced::kRefused);
  }
  constexpr int kSystemCallStop = SIGTRAP | 0x80;
  bool entering = false;
  int signal = 0;
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, subject_, nullptr, signal) != 0) return End(Forced::kRefused);
    signal = 0;
    if (!WaitForStop()) return {Forced::kEnded, status_};
    if (WSTOPSIG(status_) != kSystemCallStop) {
      signal = WSTOPSIG(status_) == SIGTRAP ? 0 : WSTOPSIG(status_);
      continue;
    }
    entering = !entering;
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, subject_, nullptr, &registers) != 0) return End(Forced::kRefused);
    if (entering && registers.orig_rax == SYS_mmap) Redirect(&registers);
    if (!entering && redirected_) {
      redirected_ = false;
      // Arguments survive a system call, and the loader's compiler knew it.
      registers.rdi = original_.rdi;
      registers.r10 = original_.r10;
      ptrace(PTRACE_SETREGS, subject_, nullptr, &registers);
      if (static_cast<int64_t>(registers.rax) == -EEXIST) return End(Forced::kOccupied);
    }
    if (entering && registers.orig_rax == SYS_getpriority && registers.rdi == plan::kMarkerWhich) break;
  }
  ptrace(PTRACE_DETACH, subject_, nullptr, nullptr);
  return {Forced::kReached, 0};
}

}  // namespace

ForcedBases ForceBases(pid_t subject, const Report& report, const std::string& program,
                       const std::vector<size_t>& rebuilt) {
  return Tracer(subject, report, program, rebuilt).Run();
}

}  // namespace recrash
