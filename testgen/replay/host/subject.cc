#include "testgen/replay/host/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "agent/base/installation.h"
#include "agent/base/ordinary_path.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/text.h"
#include "agent/elf/elf_notes.h"
#include "testgen/replay/host/program_libraries.h"
#include "testgen/replay/host/same_bases.h"
#include "testgen/replay/plan/plan.h"

namespace recrash {
namespace {

constexpr uint32_t kMostAttempts = 50;
constexpr int kCannotTrace = 125;
constexpr int kCannotExec = 126;

// Layout of static thread-local storage follows from the modules that are loaded at the start: the agent, where it was
// preloaded, must be so again. It knows replay mode and stays idle. The installation's: the recorded path may be
// anyone's.
std::vector<std::string> RecordedPreload(const TestReport& report) {
  std::vector<std::string> preload;
  for (const Module& module : report.modules) {
    if (!IsOurLibrary(module) || !BaseName(module.path).starts_with("librecrash_preload")) continue;
    const Result<std::filesystem::path> ours = InstalledFile("librecrash_preload.so");
    if (!ours) continue;
    const Result<std::string> build_id = ReadBuildId(*ours);
    if (preload.empty() && build_id && *build_id == module.build_id) preload.push_back(ours->string());
  }
  return preload;
}

// Of the libraries of the program's own those that are other builds than the report's.
Result<std::vector<RebuiltLibrary>> FindRebuiltLibraries(const TestReport& report,
                                                         const std::vector<std::string>& files) {
  std::vector<RebuiltLibrary> rebuilt;
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const Module& module = report.modules[i];
    const std::string& path = files[i];
    if (module.is_program || path.empty() || !report.replay.FindImage(module)) continue;
    if (access(path.c_str(), R_OK) != 0) continue;
    Result<ProgramFile> file = ReadProgramFile(path, false);
    if (!file) return file.error();
    if (IsSameBuild(report, module, *file)) continue;
    file = ReadProgramFile(path, true);
    if (!file) return file.error();
    rebuilt.push_back({i, std::move(*file)});
  }
  return rebuilt;
}

// Of all others only the build of the crash will do.
Status CheckLibraries(const TestReport& report) {
  for (const Module& module : report.modules) {
    if (module.is_program || module.build_id.empty() || !IsOrdinaryPath(module.path)) continue;
    if (IsOurLibrary(module) || report.replay.FindImage(module)) continue;
    const Result<std::string> found = ReadBuildId(module.path);
    if (!found || found->empty() || *found == module.build_id) continue;
    return Error{Errc::kMissing, module.path + ": the report needs build-id " + module.build_id + ", found " + *found +
                                     "\n  replay where the libraries of the crash are installed, for example in a "
                                     "container of that system's image"};
  }
  return Ok{};
}

// Its shadow memory has one address in all processes, and so has its heap: the subject's would lie where the report's
// must come.
constexpr uint64_t kEndOfAddressSanitizersShadow = 0x10007fff8000;

// Their runtimes, where they are in the program, end a process that takes over the threads and the memory of another.
struct Sanitizer {
  std::string_view begins_it;
  const char* name;
  const char* option;
};
constexpr Sanitizer kUnbearable[] = {{"__tsan_init", "ThreadSanitizer", "thread"},
                                     {"__msan_init", "MemorySanitizer", "memory"},
                                     {"__hwasan_init", "HWAddressSanitizer", "hwaddress"}};

Status CheckSanitizers(const TestReport& report, const ProgramFile& program) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(program.symbols, name, &Symbol::name) != program.symbols.end();
  };
  for (const auto& [begins_it, name, option] : kUnbearable) {
    if (!has(begins_it)) continue;
    return Error{Errc::kRefused, program.path + ": needed a build without " + name +
                                     ", found one with it, whose runtime does not work in a replay\n  build without "
                                     "-fsanitize=" +
                                     option +
                                     "; if such a build crashed, crash the other one, and reproduce its report"};
  }
  const auto has_shadow = [](const Mapping& mapping) { return mapping.end.value == kEndOfAddressSanitizersShadow; };
  if (std::ranges::none_of(report.mappings, has_shadow) || !has("__asan_init")) return Ok{};
  return Error{Errc::kRefused, program.path +
                                   ": needed a build without AddressSanitizer, found one with it, and the report is of "
                                   "such a build too; its memory "
                                   "has fixed addresses, which are taken in a replay\n  build without "
                                   "-fsanitize=address, crash that, and reproduce "
                                   "its report; its tests run on a build with it too: crash_test --program PATH"};
}

// A program into which something can be preloaded.
Result<ProgramFile> ReadSubject(const std::string& program) {
  char resolved[PATH_MAX];
  struct stat status;
  if (!realpath(program.c_str(), resolved) || stat(resolved, &status) != 0) {
    return Error{Errc::kMissing, "the program " + program + " is not there: " + strerror(errno) +
                                     "\n  name a build of it by --program PATH or RECRASH_PROGRAM"};
  }
  if (status.st_mode & (S_ISUID | S_ISGID)) {
    return Error{Errc::kRefused, std::string(resolved) +
                                     ": set-user-id programs cannot be replayed, since nothing can be "
                                     "preloaded into them\n  give a copy without that bit"};
  }
  Result<ProgramFile> elf = ReadProgramFile(resolved, true);
  if (!elf) return elf.error();
  if (elf->interpreter.empty()) {
    return Error{Errc::kRefused, std::string(resolved) +
                                     ": a statically linked program cannot be replayed, since nothing "
                                     "can be preloaded into it\n  link it dynamically (without "
                                     "-static and -static-pie)"};
  }
  if (!BaseName(elf->interpreter).starts_with("ld-linux-x86-64.so")) {
    return Error{Errc::kRefused, std::string(resolved) + ": needs the loader " + elf->interpreter +
                                     ", replays need glibc's ld-linux-x86-64.so.2"};
  }
  return elf;
}

std::string Join(const std::vector<std::string>& parts, char separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += separator;
    joined += part;
  }
  return joined;
}

std::string PreloadList(const Subject& subject) {
  std::vector<std::string> all = {subject.replay_library};
  all.insert(all.end(), subject.preload.begin(), subject.preload.end());
  return Join(all, ':');
}

struct SanitizerOptions {
  std::string_view variable;
  const char* options;
};
constexpr SanitizerOptions kSanitizerOptions[] = {
    // A runtime that is a library of its own comes behind those that are preloaded.
    {"ASAN_OPTIONS", "abort_on_error=1:alloc_dealloc_mismatch=0:detect_leaks=0:verify_asan_link_order=0"},
    {"UBSAN_OPTIONS", "abort_on_error=1:halt_on_error=1"},
    {"MSAN_OPTIONS", "abort_on_error=1"},
    {"TSAN_OPTIONS", "abort_on_error=1"},
};

// Our own environment with what the subject needs; LD_PRELOAD only where ld.so is not called by name.
std::vector<std::string> Environment(const Subject& subject, const Fd& plan, bool through_loader) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (subject.quiet && (name.starts_with("GTEST_") || name == "TEST_TOTAL_SHARDS" || name == "XML_OUTPUT_FILE"))
      continue;
    if (name == "LD_PRELOAD" || name == "LD_BIND_NOW" || name == "LD_LIBRARY_PATH") continue;
    if (std::ranges::find(kSanitizerOptions, name, &SanitizerOptions::variable) != std::end(kSanitizerOptions))
      continue;
    environment.push_back(text);
  }
  if (const std::string path = LibraryPath(subject.code.folders); !path.empty())
    environment.push_back("LD_LIBRARY_PATH=" + path);
  // A finding of a sanitizer ends the replay by an abort, which is seen. Blocks of GoogleTest's are allocated by the
  // C++ library and freed by the program.
  for (const auto& [variable, options] : kSanitizerOptions) {
    const char* own = std::getenv(variable.data());
    environment.push_back(std::string(variable) + "=" + (own && *own ? std::string(own) + ":" : "") + options);
  }
  // The frames nearest to an overflow have no stack left for the loader to bind a function on its first call.
  if (!LeftOut("bind_now")) environment.push_back("LD_BIND_NOW=1");
  environment.push_back(std::string(plan::kReplayVariable) + "=1");
  environment.push_back(std::string(plan::kPlanVariable) + "=" + std::to_string(plan.get()));
  if (!through_loader) environment.push_back("LD_PRELOAD=" + PreloadList(subject));
  if (!subject.debug_files.empty()) environment.push_back("RECRASH_DEBUG_FILES=" + Join(subject.debug_files, '\n'));
  return environment;
}

struct CommandLine {
  std::string file;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  bool quiet = false;
};

CommandLine MakeCommandLine(const Subject& subject, const Fd& plan, bool through_loader) {
  CommandLine command;
  command.quiet = subject.quiet;
  const std::string argv0 = subject.argv0.empty() ? subject.program.path : subject.argv0;
  if (through_loader) {
    command.file = subject.program.interpreter;
    command.arguments = {command.file, "--preload", PreloadList(subject), "--argv0", argv0, subject.program.path};
  } else {
    command.file = subject.program.path;
    command.arguments = {argv0};
  }
  command.arguments.insert(command.arguments.end(), subject.arguments.begin(), subject.arguments.end());
  command.environment = Environment(subject, plan, through_loader);
  return command;
}

// With randomisation off the recorded addresses and ours would be the same ones, and collide at each start.
void TurnRandomisationOn() {
  if (LeftOut("randomisation")) return;
  const int current = personality(0xffffffff);
  if (current != -1) personality(static_cast<unsigned long>(current) & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
}

pid_t Spawn(const CommandLine& command, bool traced) {
  const std::vector<char*> arguments = ArgumentPointers(command.arguments);
  const std::vector<char*> environment = ArgumentPointers(command.environment);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotExec);
  TurnRandomisationOn();
  if (const int null = command.quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1; null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  if (traced && ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kCannotTrace);
  execve(command.file.c_str(), arguments.data(), environment.data());
  _exit(kCannotExec);
}

int WaitForEnd(pid_t child, const std::function<bool()>& attend) {
  int status = 0;
  while (attend && attend()) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Tells the plan of the start that comes next.
void SetStart(const Fd& plan, uint32_t attempt, bool traced) {
  static_assert(offsetof(plan::Header, traced) == offsetof(plan::Header, attempt) + sizeof attempt);
  const uint32_t words[] = {attempt, traced};
  WriteAt(plan, offsetof(plan::Header, attempt), {reinterpret_cast<const uint8_t*>(words), sizeof words});
}

bool ExitedWith(int status, int code) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

}  // namespace

Result<Subject> PrepareSubject(const TestReport& report, const std::string& program, const CodeSources& sources,
                               const std::string& support_directory) {
  Result<ProgramFile> elf = ReadSubject(program);
  if (!elf) return elf.error();
  if (report.replay.frames.empty()) {
    return Error{Errc::kMissing, "the report has no frames to replay\n  run recrash generate on it first"};
  }
  if (const Status sanitizers = CheckSanitizers(report, *elf); !sanitizers) return sanitizers.error();
  if (const Status libraries = CheckLibraries(report); !libraries) return libraries.error();
  LoadedCode code = FindCode(report, *elf, sources);
  if (!code.missing.empty()) {
    return Error{Errc::kMissing, elf->path + ": needed " + Join(code.missing, ' ') +
                                     ", found no such library\n  give --search-path where it lies"};
  }
  Result<std::vector<RebuiltLibrary>> rebuilt = FindRebuiltLibraries(report, code.files);
  if (!rebuilt) return rebuilt.error();
  const Result<std::filesystem::path> library = InstalledFile("librecrash_replay.so", support_directory);
  if (!library) return library.error();
  Subject subject;
  subject.program = std::move(*elf);
  subject.rebuilt_libraries = std::move(*rebuilt);
  subject.code = std::move(code);
  subject.trust_report = sources.trust_report;
  subject.replay_library = library->string();
  subject.preload = RecordedPreload(report);
  return subject;
}

Result<int> RunSubject(const TestReport& report, const Subject& subject, const Fd& plan,
                       const std::function<bool()>& attend) {
  std::vector<size_t> rebuilt;
  for (const RebuiltLibrary& library : subject.rebuilt_libraries) rebuilt.push_back(library.module);
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const Module& module = report.modules[i];
    if (module.is_program && !IsSameBuild(report, module, subject.program)) rebuilt.push_back(i);
  }
  bool traced = subject.allow_same_bases;
  for (uint32_t attempt = 0; attempt < kMostAttempts; ++attempt) {
    SetStart(plan, attempt, traced);
    const pid_t child = Spawn(MakeCommandLine(subject, plan, traced), traced);
    if (child < 0) return Error{Errc::kRefused, std::string("cannot start a process: ") + strerror(errno)};
    int status = 0;
    if (traced) {
      const ForcedBases forced = ForceBases(child, report, subject.program.path, rebuilt);
      if (forced.outcome == Forced::kOccupied) continue;
      if (forced.outcome == Forced::kRefused || ExitedWith(forced.status, kCannotTrace)) {
        traced = false;
        continue;
      }
      if (forced.outcome == Forced::kEnded) return forced.status;
    }
    status = WaitForEnd(child, attend);
    if (ExitedWith(status, plan::kCollisionStatus)) continue;
    return status;
  }
  return Error{Errc::kRefused,
               "the recorded addresses are occupied at each of " + std::to_string(kMostAttempts) +
                   " starts\n  turn address space randomisation on (sysctl kernel.randomize_va_space=2)"};
}

Error ExecSubject(const Subject& subject, const Fd& plan) {
  SetStart(plan, 0, false);
  const CommandLine command = MakeCommandLine(subject, plan, false);
  TurnRandomisationOn();
  const std::vector<char*> arguments = ArgumentPointers(command.arguments);
  const std::vector<char*> environment = ArgumentPointers(command.environment);
  execve(command.file.c_str(), arguments.data(), environment.data());
  return Error{Errc::kRefused, command.file + ": " + strerror(errno)};
}

}  // namespace recrash
