#include "agent/collector/collect.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/options.h"
#include "agent/collector/inputs.h"
#include "agent/collector/snapshots.h"
#include "agent/process/memory_choice.h"
#include "agent/process/proc_files.h"
#include "agent/process/stopped_process.h"
#include "agent/process/target_memory.h"
#include "agent/report/crash_record.h"
#include "agent/report/maps.h"

namespace recrash {
namespace {

using signal_safe::Nanoseconds;

constexpr uint64_t kMaxThrownStack = 1 << 20;

Result<abi::CrashRecord> ReadRecord(const TargetMemory& memory, const CollectRequest& request) {
  abi::CrashRecord record;
  if (!memory.ReadObject(request.record, &record))
    return Error{Errc::kRefused, "the crash record of process " + std::to_string(request.pid) + " cannot be read"};
  if (!IsOfThisVersion(record))
    return Error{Errc::kUnsupportedVersion,
                 "the program's crash record is of version " + std::to_string(record.version) + ", this collector's " +
                     std::to_string(abi::kCrashVersion) +
                     "\n  use the recrash-collector of the release that the program was built with"};
  return record;
}

// glibc's struct abort_msg_s: a 32-bit size, then the text.
std::string ReadAbortMessage(const TargetMemory& memory, TargetAddress variable) {
  uint64_t message = 0;
  if (variable.value == 0 || !memory.ReadObject(variable, &message) || message == 0) return "";
  return memory.ReadText({message + 4}, 4096);
}

// Registers of the failing thread come from the record: ptrace gives those of the crash handler.
void ReadCrash(const TargetMemory& memory, const CollectRequest& request, const abi::CrashRecord& record,
               Report* report) {
  TakeRecord(record,
             {ReadProcLink(record.pid, "exe"), ReadProcLink(record.pid, "cwd"), ReadProcFile(record.pid, "cmdline"),
              ReadProcFile(record.pid, "stat"), ReadAbortMessage(memory, request.abort_message)},
             report);
  Process& process = report->process;
  const auto heap = std::ranges::find(report->mappings, "[heap]", &Mapping::path);
  process.brk_end = heap != report->mappings.end() ? heap->end : process.brk_start;
  rlimit limit = {};
  if (prlimit(record.pid, RLIMIT_STACK, nullptr, &limit) == 0) process.stack_limit = limit.rlim_cur;
  process.crashed_at =
      static_cast<int64_t>(Nanoseconds(CLOCK_REALTIME) - (Nanoseconds(CLOCK_MONOTONIC) - record.monotonic_ns));
}

// Opens files as the process sees them; reads the vdso from the process's memory.
ElfLookup LookupIn(const TargetMemory& memory, pid_t pid) {
  const ElfLookup files = LookupFiles(ProcPath(pid, "root"));
  return [&memory, files](const Mapping& first) -> Result<ElfFacts> {
    if (first.path != "[vdso]") return files(first);
    std::vector<uint8_t> bytes(first.end - first.start);
    bytes.resize(memory.Read(first.start, bytes));
    return ParseElfHead(bytes, first.path);
  };
}

void ReadException(const TargetMemory& memory, const abi::CrashRecord& record, Report* report) {
  if (record.throw_record == 0) return;
  const auto read = [&](uint64_t address, auto take) {
    abi::ThrowRecord thrown;
    if (!memory.ReadObject({address}, &thrown)) return;
    std::vector<uint8_t> stack(std::min(thrown.stack_size, kMaxThrownStack));
    stack.resize(memory.Read({thrown.stack_copy}, stack));
    take(thrown, std::move(stack), report);
  };
  read(record.throw_record, TakeThrow);
  if (record.has_replaced != 0) read(record.throw_record + sizeof(abi::ThrowRecord), TakeReplaced);
}

// smaps says which memory is excluded from core dumps.
void ReadMappings(pid_t pid, Report* report) {
  const std::string smaps = ReadProcFile(pid, "smaps");
  report->mappings = ParseMaps(smaps);
  if (smaps.find("\nVmFlags:") != smaps.npos) return;
  report->mappings = ParseMaps(ReadProcFile(pid, "maps"));
  report->losses.push_back(
      "which memory the program excludes from core dumps: the kernel does not say, and all was kept");
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
  ReadMappings(request.pid, &report);
  const std::optional<record::LogHeader> log = ReadLogHeader(*memory, request.snapshots, request.pid);
  if (log) LeaveOutLog(*log, &report.mappings);
  report.threads = stopped->ReadThreads();
  if (Status status = collected.discretion.Read(*memory, request.marked); !status) return status.error();
  ReadCrash(*memory, request, *record, &report);
  ReadException(*memory, *record, &report);
  TakeModules(LookupIn(*memory, request.pid), &report);
  report.files = ReadOpenFiles(request.pid);
  if (log) LeaveOutDescriptors(*log, &report.files);
  const signal_safe::Options options = signal_safe::ParseOptions(record->options, [&](const char* option) {
    report.losses.push_back(std::string("RECRASH_OPTIONS: not understood and ignored at \"") + option + "\"");
  });
  ReadMemory(*memory, options.memory_mib, &report);
  if (log && record->without_memory == 0) {
    ReadSnapshots(*memory, *log, &report);
    report.snapshots->figures.process_cpu_ns = CpuTime(request.pid);
  } else if (!log && request.snapshots.value != 0) {
    report.losses.push_back(
        "no entry states: their log is damaged, or that of another process or of another version of recrash");
  }
  DropWithheld(&report);
  // The other threads are still stopped, so that files do not change while they are read.
  ReadInputs(options.embed_files != 0, &report);
  collected.discretion.Apply(*memory, &report);
  stopped->Detach();
  report.process.collect_ns = Nanoseconds(CLOCK_MONOTONIC) - record->monotonic_ns;
  return collected;
}

}  // namespace recrash
