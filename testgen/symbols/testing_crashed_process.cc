#include "testgen/symbols/testing_crashed_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "agent/base/signal_safe/register_order.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "testgen/symbols/files/elf_file.h"

namespace recrash {
namespace {

// GoogleTest makes a failed test of it, and folders are removed on the way.
[[noreturn]] void Die(const std::string& why) { throw std::runtime_error(why); }

std::string ReadText(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool IsFatal(int signal) {
  return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

pid_t StartProgram(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    dup2(null, 2);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  return pid;
}

Registers ReadRegisters(pid_t pid) {
  user_regs_struct user{};
  user_fpregs_struct fp{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &user);
  ptrace(PTRACE_GETFPREGS, pid, nullptr, &fp);
  Registers registers;
  std::ranges::transform(kPtraceRegisters, registers.dwarf.begin(), [&](auto member) { return user.*member; });
  registers.fs_base = user.fs_base;
  registers.eflags = user.eflags;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&fp);
  registers.fxsave.assign(bytes, bytes + sizeof(fp));
  return registers;
}

std::vector<Mapping> ReadMappings(pid_t pid) { return ParseMaps(ReadText("/proc/" + std::to_string(pid) + "/maps")); }

uint64_t AddressOf(std::span<const Module> modules, const std::string& library, const std::string& symbol) {
  for (const Module& module : modules) {
    if (module.path.find(library) == std::string::npos) continue;
    auto file = ElfFile::Open(module.path);
    if (!file) continue;
    const std::vector<ElfSymbol>& symbols = (*file)->symbols();
    const auto found = std::ranges::find(symbols, symbol, &ElfSymbol::name);
    if (found != symbols.end()) return found->address + module.bias;
  }
  Die("no " + symbol + " in " + library);
}

// From a stop before the throw to __cxa_throw's first instruction, where the stack is what the agent's hook sees.
ThrownStack RunToThrow(pid_t pid, const std::string& program) {
  const std::vector<Mapping> mappings = ReadMappings(pid);
  const uint64_t address = AddressOf(ModulesFromMappings(mappings, program), "libstdc++", "__cxa_throw");
  const long code = ptrace(PTRACE_PEEKTEXT, pid, address, nullptr);
  ptrace(PTRACE_POKETEXT, pid, address, (code & ~0xffl) | 0xcc);
  ptrace(PTRACE_CONT, pid, nullptr, 0);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) Die("the program did not throw");
  ptrace(PTRACE_POKETEXT, pid, address, code);
  user_regs_struct user{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &user);
  user.rip = address;
  ptrace(PTRACE_SETREGS, pid, nullptr, &user);

  ThrownStack thrown;
  thrown.registers = ReadRegisters(pid);
  thrown.address = {user.rsp};
  thrown.bytes.resize(4096);
  const int memory = open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY);
  const ssize_t count = pread(memory, thrown.bytes.data(), thrown.bytes.size(), static_cast<off_t>(user.rsp));
  close(memory);
  thrown.bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  // Just after the call, in the caller.
  memcpy(&thrown.registers.dwarf[16], thrown.bytes.data(), 8);
  thrown.registers.dwarf[7] += 8;
  return thrown;
}

// Leaves the process stopped at its fatal signal.
siginfo_t RunToCrash(pid_t pid, const std::string& program, std::optional<ThrownStack>* thrown) {
  int status = 0;
  waitpid(pid, &status, 0);
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL);
  int signal = 0;
  for (;;) {
    ptrace(PTRACE_CONT, pid, nullptr, signal);
    if (waitpid(pid, &status, 0) != pid || WIFEXITED(status) || WIFSIGNALED(status))
      Die("the program ended without a crash, status " + std::to_string(status));
    signal = WSTOPSIG(status);
    if (IsFatal(signal)) break;
    if (signal == SIGTRAP) signal = 0;
    if (signal == SIGUSR2 && thrown != nullptr) {
      *thrown = RunToThrow(pid, program);
      signal = 0;
    }
  }
  siginfo_t info{};
  ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info);
  return info;
}

// Whole private writable mappings: tests need no more economy than this.
void ReadMemory(pid_t pid, Report& report) {
  const int memory = open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY);
  for (const Mapping& mapping : report.mappings) {
    if ((mapping.flags & kMapWrite) == 0 || (mapping.flags & kMapShared) != 0) continue;
    Region region{mapping.start, std::vector<uint8_t>(mapping.end - mapping.start)};
    const ssize_t count =
        pread(memory, region.bytes.data(), region.bytes.size(), static_cast<off_t>(mapping.start.value));
    if (count == static_cast<ssize_t>(region.bytes.size())) report.memory.push_back(std::move(region));
  }
  close(memory);
}

void AddOtherThreads(pid_t pid, Report& report) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    const pid_t thread = static_cast<pid_t>(std::stol(task.path().filename()));
    if (thread == pid || ptrace(PTRACE_ATTACH, thread, nullptr, nullptr) != 0) continue;
    int status = 0;
    waitpid(thread, &status, __WALL);
    report.threads.push_back({thread, "other", false, ReadRegisters(thread)});
  }
}

}  // namespace

Fixture::Fixture(const std::string& source, const std::string& flags) {
  Write("program.cc", source);
  Run(RECRASH_TEST_CXX " " + flags + " program.cc -o program");
}

void Fixture::Write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

void Fixture::Run(const std::string& command) const {
  const std::string line = "cd '" + folder() + "' && " + command;
  if (system(line.c_str()) != 0) Die("failed: " + line);
}

Report Fixture::Crash(const std::vector<std::string>& arguments) const { return Capture(arguments, false); }

Report Fixture::CrashWithThrow(const std::vector<std::string>& arguments) const { return Capture(arguments, true); }

Report Fixture::Capture(const std::vector<std::string>& arguments, bool with_throw) const {
  Report report;
  const pid_t pid = StartProgram(path(), arguments);
  const siginfo_t info = RunToCrash(pid, path(), with_throw ? &report.thrown : nullptr);
  report.process.pid = pid;
  report.process.program = path();
  report.failure.signal = info.si_signo;
  report.failure.code = info.si_code;
  report.failure.address = {reinterpret_cast<uint64_t>(info.si_addr)};
  report.threads.push_back({pid, "program", true, ReadRegisters(pid)});
  report.failure.pc = {report.threads[0].registers.pc()};
  AddOtherThreads(pid, report);
  report.mappings = ReadMappings(pid);
  report.modules = ModulesFromMappings(report.mappings, path());
  ReadMemory(pid, report);
  kill(pid, SIGKILL);
  int status = 0;
  // The first thread is gone only when the others are.
  for (const Thread& thread : report.threads)
    if (thread.id != pid) waitpid(thread.id, &status, __WALL);
  waitpid(pid, &status, 0);
  return report;
}

std::string Monitored(const std::string& flags, const std::string& mode) {
  return flags +
         " -fpass-plugin=" RECRASH_TEST_PASS " -Xclang -load -Xclang " RECRASH_TEST_PASS " -mllvm -recrash-mode=" +
         mode;
}

Backtrace MustRead(const Report& report, const SymbolOptions& options) {
  auto symbols = Symbols::Open(report, options);
  if (!symbols) Die(symbols.error().message);
  return MustRead(report, *symbols);
}

Backtrace MustRead(const Report& report, const Symbols& symbols) {
  auto backtrace = ReadBacktrace(report, symbols);
  if (!backtrace) Die(backtrace.error().message);
  return std::move(*backtrace);
}

std::vector<std::string> FunctionNames(const Backtrace& backtrace) {
  std::vector<std::string> names;
  for (const Frame& frame : backtrace.frames) {
    const std::string name = frame.function.substr(0, frame.function.find('('));
    names.push_back(frame.inlined ? "[" + name + "]" : name);
    if (name == "main") break;
  }
  return names;
}

const Frame& FrameOf(const Backtrace& backtrace, const std::string& name) {
  for (const Frame& frame : backtrace.frames)
    if (frame.function.starts_with(name)) return frame;
  Die("no frame of " + name);
}

const Parameter& ParameterOf(const Frame& frame, const std::string& name) {
  for (const Parameter& parameter : frame.parameters)
    if (parameter.name == name) return parameter;
  Die(frame.function + " has no parameter " + name);
}

uint64_t ValueOf(const Parameter& parameter) {
  if (!parameter.complete || parameter.bytes.size() > 8) Die("the value of " + parameter.name + " is not known");
  uint64_t value = 0;
  memcpy(&value, parameter.bytes.data(), parameter.bytes.size());
  return value;
}

}  // namespace recrash
