#include "agent/collector/collect.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/options.h"
#include "agent/collector/additions.h"
#include "agent/collector/code.h"
#include "agent/collector/discretion.h"
#include "agent/collector/inputs.h"
#include "agent/collector/live_process.h"
#include "agent/collector/minidump.h"
#include "agent/process/memory_choice.h"
#include "agent/process/memory_left.h"
#include "agent/process/proc_files.h"
#include "agent/process/stopped_process.h"
#include "agent/process/target_memory.h"
#include "agent/report/crash_record.h"
#include "agent/report/entry_log.h"
#include "agent/report/maps.h"
#include "agent/store/signature.h"

namespace recrash {
namespace {

using signal_safe::Nanoseconds;

constexpr uint64_t kMaxThrownStack = 1 << 20;

Result<abi::CrashRecord> ReadRecord(const TargetMemory& memory, const CollectRequest& request) {
  abi::CrashRecord record;
  if (Fails("record") || !memory.ReadObject(request.record, &record))
    return Error{Errc::kRefused, "the crash record of process " + std::to_string(request.pid) + " cannot be read"};
  if (!IsOfThisVersion(record))
    return Error{Errc::kUnsupportedVersion,
                 "the program's crash record is of version " + std::to_string(record.version) + ", this collector's " +
                     std::to_string(abi::kCrashVersion) +
                     "\n  use the recrash-collector of the release that the program was built with"};
  return record;
}

Result<abi::CrashRecord> RecordOfLive(const CollectRequest& request, const Report& report) {
  const auto thread = std::ranges::find(report.threads, request.tid, &Thread::id);
  if (thread != report.threads.end()) return RecordOfLive(request.pid, *thread);
  return Error{Errc::kRefused, "thread " + std::to_string(request.tid) + " has ended"};
}

// glibc's struct abort_msg_s: a 32-bit size, then the text.
std::string ReadAbortMessage(const TargetMemory& memory, TargetAddress variable, Report* report) {
  if (variable.value == 0) return "";
  uint64_t message = 0;
  uint8_t first = 0;
  const bool is_read = !Fails("abort_message") && memory.ReadObject(variable, &message) &&
                       (message == 0 || memory.ReadObject({message + 4}, &first));
  if (!is_read) report->losses.push_back("the C library's last message: it cannot be read");
  return is_read && message != 0 ? memory.ReadText({message + 4}, 4096) : "";
}

// Registers of the failing thread come from the record: ptrace gives those of the crash handler.
void ReadCrash(const TargetMemory& memory, const CollectRequest& request, const abi::CrashRecord& record,
               Report* report) {
  CrashTexts texts;
  texts.executable = Fails("exe") ? "" : ReadProcLink(record.pid, "exe");
  texts.directory = Fails("cwd") ? "" : ReadProcLink(record.pid, "cwd");
  texts.command_line = Fails("cmdline") ? "" : ReadProcFile(record.pid, "cmdline");
  texts.stat = ReadProcFile(record.pid, "stat");
  texts.abort_message = ReadAbortMessage(memory, request.abort_message, report);
  TakeRecord(record, texts, report);
  Process& process = report->process;
  const auto heap = std::ranges::find(report->mappings, "[heap]", &Mapping::path);
  process.brk_end = heap != report->mappings.end() ? heap->end : process.brk_start;
  rlimit limit = {};
  if (!Fails("stack_limit") && prlimit(record.pid, RLIMIT_STACK, nullptr, &limit) == 0)
    process.stack_limit = limit.rlim_cur;
  else
    report->losses.push_back("the limit of the program's stack: the kernel does not tell");
  process.crashed_at =
      static_cast<int64_t>(Nanoseconds(CLOCK_REALTIME) - (Nanoseconds(CLOCK_MONOTONIC) - record.monotonic_ns));
}

// Opens files as the process sees them; reads the vdso from the process's memory.
ElfLookup LookupIn(const TargetMemory& memory, pid_t pid) {
  const ElfLookup files = LookupFiles(ProcPath(pid, "root"));
  return [&memory, files](const Mapping& first) -> Result<ElfFacts> {
    if (Fails("module")) return Error{Errc::kMissing, first.path};
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
    if (Fails("throw") || !memory.ReadObject({address}, &thrown)) {
      report->losses.push_back("an exception that was thrown: its record cannot be read");
      return;
    }
    std::vector<uint8_t> stack(std::min(thrown.stack_size, kMaxThrownStack));
    stack.resize(Fails("thrown_stack") ? 0 : memory.Read({thrown.stack_copy}, stack));
    take(thrown, std::move(stack), report);
  };
  read(record.throw_record, TakeThrow);
  if (record.has_replaced != 0) read(record.throw_record + sizeof(abi::ThrowRecord), TakeReplaced);
}

// smaps says which memory is excluded from core dumps.
void ReadMappings(pid_t pid, Report* report) {
  const std::string smaps = Fails("smaps") || Fails("maps") ? "" : ReadProcFile(pid, "smaps");
  report->mappings = ParseMaps(smaps);
  if (smaps.find("\nVmFlags:") != smaps.npos) return;
  report->mappings = ParseMaps(Fails("maps") ? "" : ReadProcFile(pid, "maps"));
  report->losses.push_back(
      "which memory the program excludes from core dumps: the kernel does not say, and all was kept");
}

// A program that was held, with memory of it that is still to be read.
class HeldMemory final : public LaterMemory {
 public:
  HeldMemory(StoppedProcess process, TargetMemory memory, Discretion discretion, std::vector<PageRun> runs)
      : process_(std::move(process)),
        memory_(std::move(memory)),
        discretion_(std::move(discretion)),
        runs_(std::move(runs)) {}

  std::vector<Range> ranges() const override {
    std::vector<Range> ranges;
    for (const PageRun& run : runs_) ranges.push_back({run.start, run.pages * kPageSize});
    return ranges;
  }
  void Read(TargetAddress address, std::span<uint8_t> out) const override {
    const size_t got = memory_.Read(address, out);
    std::ranges::fill(out.subspan(got), uint8_t{0});
    discretion_.MaskMemory(memory_, address, out);
  }

 private:
  StoppedProcess process_;
  TargetMemory memory_;
  Discretion discretion_;
  std::vector<PageRun> runs_;
};

// What this process needs whatever the program's size is: itself, the packer, the text of a thousand mappings.
constexpr uint64_t kOwnNeed = 12 << 20;
// Of a byte of the program's memory there are at most so many copies at a time: read, joined, masked, packed.
constexpr uint64_t kCopies = 4;

// What may be held here of the program's memory.
uint64_t MayHold() {
  const uint64_t left = Fails("memory_left") ? 0 : MemoryLeft();
  return left > kOwnNeed ? (left - kOwnNeed) / kCopies : 0;
}

// Returns what is to be read later.
std::vector<PageRun> ReadMemory(const TargetMemory& memory, uint32_t limit_mib, uint64_t may_hold, Report* report) {
  MemoryRequest request;
  request.held = may_hold;
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
  return std::move(kept.later);
}

// A log may be larger than what is left to read it into.
bool Fits(const record::LogHeader& log, const Process& process, uint64_t may_hold) {
  const uint64_t heap = log.copy_depth != 0 ? process.brk_end - process.brk_start : 0;
  return log.figures.most_versions <= may_hold / kPageSize && heap <= may_hold;
}

// REQUIRES: the report has its memory, all but `later`.
void ReadStates(const TargetMemory& memory, const record::LogHeader& log, const std::vector<PageRun>& later,
                uint64_t may_hold, Report* report) {
  if (!Fits(log, report->process, may_hold)) {
    report->losses.push_back("no entry states: too little memory was left to read them");
    return;
  }
  ReadSnapshots(memory, log, later, report);
  report->snapshots->figures.process_cpu_ns = CpuTime(report->process.pid);
}

// What the program adds, and files. Without additions where they cannot be masked: they may hold what nobody can find.
void ReadAddedFiles(TargetAddress additions, const signal_safe::Options& options, bool can_be_masked,
                    const TargetMemory& memory, Report* report) {
  NamedFiles named;
  if (can_be_masked)
    named = ReadAdditions(memory, additions, report);
  else
    report->losses.push_back("notes, logs and attached files: the program marks more values than can be masked");
  ReadInputs(options.embed_files != 0, named.attachments, report);
  if (options.logs != 0 && can_be_masked) ReadLogs(named.logs, report);
}

// Where the client has its tables: it has said so, or the process is live, and they are looked for.
abi::ClientPlaces FindPlaces(const CollectRequest& request, const TargetMemory& memory, Report* report) {
  if (request.record.value != 0) return {{}, 0, request.marked.value, request.additions.value};
  report->process.program = ReadProcLink(request.pid, "exe");
  const size_t losses = report->losses.size();
  TakeModules(LookupIn(memory, request.pid), report);
  report->losses.resize(losses);  // they are taken once more
  return FindClient(memory, *report);
}

// Where the stack was: its signature, and the code there. What of the stack is not in the report is still in the
// process.
void ReadPlaces(const TargetMemory& memory, pid_t pid, Report* report) {
  const auto read = [&memory](TargetAddress address) -> std::optional<uint64_t> {
    uint64_t word;
    return memory.ReadObject(address, &word) ? std::optional(word) : std::nullopt;
  };
  const WalkedStack stack = WalkStack(*report, kPlacesOfSignature, read);
  if (!Fails("signature")) report->signature = SignatureOf(*report, stack);
  if (report->signature.empty())
    report->losses.push_back("no signature: of the failing stack nothing of the program's own was found");
  ReadCode(memory, pid, stack, report);
}

}  // namespace

void KeepInnermostFrames(const Error& why, Collected* collected) {
  constexpr uint64_t kInnermost = 64 << 10;
  Report* report = &collected->report;
  collected->minidump.clear();
  const Thread* failing = report->failing_thread();
  const TargetAddress sp{failing ? failing->registers.sp() & ~(kPageSize - 1) : 0};
  report->memory = Outside(std::move(report->memory), {0}, sp);
  report->memory = Outside(std::move(report->memory), sp + kInnermost, {UINT64_MAX});
  report->memory_complete = false;
  report->snapshots.reset();
  for (Input& input : report->inputs) {
    if (!input.held()) continue;
    input.content = InputContent::kNoRoom;
    input.bytes.clear();
  }
  for (KeptLog& log : report->logs) log.tail.clear();
  report->losses.push_back(
      "all but the innermost frames (other memory, entry states, input files, ends of logs, the minidump): " +
      why.message.substr(0, why.message.find('\n')));
}

Result<Collected> Collect(const CollectRequest& request) {
  Collected collected;
  Report& report = collected.report;
  Result<StoppedProcess> stopped = StoppedProcess::Attach(request.pid, request.tid, &report.losses);
  if (!stopped) return stopped.error();
  Result<TargetMemory> memory = TargetMemory::Open(request.pid);
  if (!memory) return memory.error();
  report.threads = stopped->ReadThreads(&report.losses);
  const bool is_live = request.record.value == 0;
  Result<abi::CrashRecord> record = is_live ? RecordOfLive(request, report) : ReadRecord(*memory, request);
  if (!record) return record.error();
  ReadMappings(request.pid, &report);
  const abi::ClientPlaces places = FindPlaces(request, *memory, &report);
  LeaveOutAdditions({places.additions}, &report.mappings);
  const std::optional<record::LogHeader> log = ReadLogHeader(*memory, request.snapshots, request.pid);
  if (log) LeaveOutLog(*log, &report.mappings);
  ReadCrash(*memory, request, *record, &report);
  ReadException(*memory, *record, &report);
  TakeModules(LookupIn(*memory, request.pid), &report);
  Discretion discretion;
  if (Status status = discretion.Read(*memory, {places.marked}); !status) return status.error();
  report.files = ReadOpenFiles(request.pid, &report.losses);
  if (log) LeaveOutDescriptors(*log, &report.files);
  const signal_safe::Options options = signal_safe::ParseOptions(record->options, [&](const char* option) {
    report.losses.push_back(std::string("RECRASH_OPTIONS: not understood and ignored at \"") + option + "\"");
  });
  const uint64_t may_hold = MayHold();
  std::vector<PageRun> later = ReadMemory(*memory, options.memory_mib, may_hold, &report);
  if (log && record->without_memory == 0)
    ReadStates(*memory, *log, later, may_hold, &report);
  else if (!log && request.snapshots.value != 0)
    report.losses.push_back(
        "no entry states: their log is damaged, or that of another process or of another version of recrash");
  DropWithheld(&report);
  // The other threads are still stopped, so that files do not change while they are read.
  if (!is_live && places.additions == 0) report.losses.push_back(kNoAdditions);
  ReadAddedFiles({places.additions}, options, discretion.knows_all(), *memory, &report);
  discretion.Apply(*memory, &report);
  // A minidump consists of stacks, environment and the like.
  if (record->without_memory == 0) {
    collected.minidump = MakeMinidump(*stopped, *memory, *record);
    HideInMinidump(report.mappings, discretion, &collected.minidump);
    if (collected.minidump.empty()) report.losses.push_back("no minidump: it could not be made");
  }
  ReadPlaces(*memory, request.pid, &report);
  JoinLosses(&report.losses);
  report.process.collect_ns = Nanoseconds(CLOCK_MONOTONIC) - record->monotonic_ns;
  if (!later.empty())
    collected.later =
        std::make_unique<HeldMemory>(*std::move(stopped), *std::move(memory), std::move(discretion), std::move(later));
  return collected;
}

}  // namespace recrash
