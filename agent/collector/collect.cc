#include "agent/collector/collect.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "agent/base/signal_safe/options.h"
#include "agent/collector/inputs.h"
#include "agent/collector/snapshots.h"
#include "agent/process/memory_choice.h"
#include "agent/process/proc_files.h"
#include "agent/process/stopped_process.h"
#include "agent/process/target_memory.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"

namespace recrash {
namespace {

constexpr uint64_t kMaxThrownStack = 1 << 20;

int64_t Nanoseconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

template <size_t N>
std::string Text(const char (&array)[N]) {
  return std::string(array, strnlen(array, N));
}

Result<abi::CrashRecord> ReadRecord(const TargetMemory& memory, const CollectRequest& request) {
  abi::CrashRecord record;
  if (!memory.ReadObject(request.record, &record))
    return Error{Errc::kRefused, "the crash record of process " + std::to_string(request.pid) + " cannot be read"};
  if (record.magic != abi::kCrashMagic || record.version != abi::kCrashVersion || record.size != sizeof record)
    return Error{Errc::kUnsupportedVersion,
                 "the program's crash record is of version " + std::to_string(record.version) + ", this collector's " +
                     std::to_string(abi::kCrashVersion) +
                     "\n  use the recrash-collector of the release that the program was built with"};
  return record;
}

// The registers at the failure; those that ptrace gives are the handler's.
Registers AtFailure(const abi::CrashRecord& record, uint64_t fs_base) {
  constexpr int kOrder[abi::kRegisterCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                               REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                               REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers registers;
  const greg_t* gregs = record.context.uc_mcontext.gregs;
  for (int i = 0; i < abi::kRegisterCount; ++i) registers.dwarf[i] = static_cast<uint64_t>(gregs[kOrder[i]]);
  registers.fs_base = fs_base;
  registers.eflags = static_cast<uint64_t>(gregs[REG_EFL]);
  registers.fxsave.assign(std::begin(record.fpstate), std::end(record.fpstate));
  return registers;
}

// glibc's struct abort_msg_s: a 32-bit size, then the text.
std::string ReadAbortMessage(const TargetMemory& memory, TargetAddress variable) {
  uint64_t message = 0;
  if (variable.value == 0 || !memory.ReadObject(variable, &message) || message == 0) return "";
  std::string text = memory.ReadText({message + 4}, 4096);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Process ReadProcess(const abi::CrashRecord& record, std::span<const Mapping> mappings) {
  Process process;
  process.pid = record.pid;
  process.program = ReadProcLink(record.pid, "exe");
  process.working_directory = ReadProcLink(record.pid, "cwd");
  process.arguments = SplitArguments(ReadProcFile(record.pid, "cmdline"));
  process.options = Text(record.options);
  process.brk_start = {BrkStart(ReadProcFile(record.pid, "stat"))};
  const auto heap = std::ranges::find(mappings, "[heap]", &Mapping::path);
  if (process.brk_start.value == 0 && heap != mappings.end()) process.brk_start = heap->start;
  process.brk_end = heap != mappings.end() ? heap->end : process.brk_start;
  rlimit limit = {};
  if (prlimit(record.pid, RLIMIT_STACK, nullptr, &limit) == 0) process.stack_limit = limit.rlim_cur;
  process.crashed_at =
      Nanoseconds(CLOCK_REALTIME) - (Nanoseconds(CLOCK_MONOTONIC) - static_cast<int64_t>(record.monotonic_ns));
  return process;
}

// Files as the process sees them; the vdso from its memory.
ElfLookup LookupIn(const TargetMemory& memory, pid_t pid) {
  const ElfLookup files = LookupFiles(ProcPath(pid, "root"));
  return [&memory, files](const Mapping& first) -> Result<ElfFacts> {
    if (first.path != "[vdso]") return files(first);
    std::vector<uint8_t> bytes(first.end - first.start);
    bytes.resize(memory.Read(first.start, bytes));
    return ParseElfHead(bytes, first.path);
  };
}

// Notes of several kinds are there when objects were built with different options; one that names a version wins.
void TakeBuildNotes(const std::vector<BuildNote>& notes, Process* process) {
  for (const BuildNote& note : notes) {
    if (process->mode.empty()) process->mode = note.mode;
    if (process->version.empty() && !note.version.empty()) {
      process->version = note.version;
      process->mode = note.mode;
    }
  }
}

void ReadModules(const TargetMemory& memory, Report* report) {
  const ElfLookup lookup = LookupIn(memory, report->process.pid);
  report->modules =
      ModulesFromMappings(report->mappings, report->process.program, [&](const Mapping& first) -> Result<ElfFacts> {
        Result<ElfFacts> facts = lookup(first);
        if (facts && first.path == report->process.program) TakeBuildNotes(facts->notes, &report->process);
        return facts;
      });
}

void ReadThreads(const StoppedProcess& stopped, const abi::CrashRecord& record, Report* report) {
  report->threads = stopped.ReadThreads();
  for (Thread& thread : report->threads) {
    if (thread.id != record.tid) continue;
    thread.failing = true;
    thread.registers = AtFailure(record, thread.registers.fs_base);
  }
}

void ReadFailure(const TargetMemory& memory, const CollectRequest& request, const abi::CrashRecord& record,
                 Report* report) {
  Failure& failure = report->failure;
  failure.kind = static_cast<FailureKind>(record.kind);
  failure.signal = record.siginfo.si_signo;
  failure.code = record.siginfo.si_code;
  // For a signal that a process sent the address field holds the sender.
  if (record.siginfo.si_code > 0) failure.address = {reinterpret_cast<uint64_t>(record.siginfo.si_addr)};
  failure.pc =
      report->failing_thread() != nullptr ? TargetAddress{report->failing_thread()->registers.pc()} : TargetAddress{};
  if (failure.signal == SIGABRT) failure.abort_message = ReadAbortMessage(memory, request.abort_message);
  failure.reason = Text(record.reason);
}

void ReadException(const TargetMemory& memory, const abi::CrashRecord& record, Report* report) {
  abi::ThrowRecord thrown;
  if (record.throw_record == 0 || !memory.ReadObject({record.throw_record}, &thrown)) return;
  report->failure.exception_type = Text(thrown.type);
  report->failure.exception_what = Text(thrown.what);
  if (thrown.armed == 0 || thrown.stack_size == 0) return;
  ThrownStack stack;
  std::ranges::copy(thrown.registers, stack.registers.dwarf.begin());
  if (const Thread* thread = report->failing_thread()) stack.registers.fs_base = thread->registers.fs_base;
  stack.address = {thrown.stack_address};
  stack.bytes.resize(std::min(thrown.stack_size, kMaxThrownStack));
  stack.bytes.resize(memory.Read({thrown.stack_copy}, stack.bytes));
  report->thrown = std::move(stack);
}

void ReadMemory(const TargetMemory& memory, uint32_t limit_mib, Report* report) {
  MemoryRequest request;
  request.limit = uint64_t{limit_mib} << 20;
  for (const Thread& thread : report->threads) {
    if (thread.failing)
      request.registers.insert(request.registers.begin(), thread.registers);
    else
      request.registers.push_back(thread.registers);
  }
  request.modules = report->modules;
  KeptMemory kept = KeepMemory(memory, report->mappings, request);
  report->memory = std::move(kept.regions);
  report->memory_complete = kept.complete;
  std::ranges::move(kept.losses, std::back_inserter(report->losses));
}

}  // namespace

Result<Collected> Collect(const CollectRequest& request) {
  Collected collected;
  Report& report = collected.report;
  Result<StoppedProcess> stopped = StoppedProcess::Attach(request.pid, request.tid, &report.losses);
  if (!stopped) return stopped.error();
  Result<TargetMemory> memory = TargetMemory::Open(request.pid);
  if (!memory) return memory.error();
  Result<abi::CrashRecord> record = ReadRecord(*memory, request);
  if (!record) return record.error();
  collected.record = *record;
  report.mappings = ParseMaps(ReadProcFile(request.pid, "maps"));
  const std::optional<record::LogHeader> log = ReadLogHeader(*memory, request.snapshots, request.pid);
  if (log) LeaveOutLog(*log, &report.mappings);
  if (!log && request.snapshots.value != 0)
    report.losses.push_back("no entry states: their log is damaged, or that of another version or process");
  report.process = ReadProcess(*record, report.mappings);
  ReadThreads(*stopped, *record, &report);
  ReadFailure(*memory, request, *record, &report);
  ReadException(*memory, *record, &report);
  ReadModules(*memory, &report);
  report.files = ReadOpenFiles(request.pid);
  if (log) LeaveOutDescriptors(*log, &report.files);
  const signal_safe::Options options = signal_safe::ParseOptions(record->options, [&](const char* option) {
    report.losses.push_back(std::string("RECRASH_OPTIONS: not understood and ignored at \"") + option + "\"");
  });
  ReadMemory(*memory, options.memory_mib, &report);
  if (log) {
    ReadSnapshots(*memory, *log, &report);
    report.snapshots->figures.process_cpu_ns = CpuTime(request.pid);
  } else if (request.snapshots.value != 0) {
    report.losses.push_back("no entry states: their log is damaged, or of another version of recrash");
  }
  // Other threads are still: what they read and write stays as it is.
  ReadInputs(options.embed_files != 0, &report);
  stopped->Detach();
  report.process.collect_ns = static_cast<uint64_t>(Nanoseconds(CLOCK_MONOTONIC)) - record->monotonic_ns;
  return collected;
}

}  // namespace recrash
