#include "testgen/derive/twin_replay.h"

#include <algorithm>
#include <filesystem>

#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/process/traced_program.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "testgen/derive/arguments.h"
#include "testgen/derive/traced_replay.h"

namespace recrash {
namespace {

constexpr size_t kProgramCounter = 16;  // DWARF's number of rip
constexpr uint64_t kMostMemory = 256ull << 20;

Result<std::vector<Region>> WritableMemory(pid_t process, const std::vector<Mapping>& mappings) {
  const Result<TargetMemory> memory = TargetMemory::Open(process);
  if (!memory) return memory.error();
  std::vector<Region> regions;
  uint64_t left = kMostMemory;
  for (const Mapping& mapping : mappings) {
    if (!IsPrivateWritable(mapping)) continue;
    // Of the plan's file, too, only pages that were touched have something of the program.
    const auto runs = mapping.path.starts_with('/')
                          ? std::vector<PageRun>{{mapping.start, (mapping.end - mapping.start) / kPageSize}}
                          : memory->Present(mapping).value_or(std::vector<PageRun>());
    for (const PageRun& run : runs) {
      const uint64_t size = run.pages * kPageSize;
      if (size > left) return Error{Errc::kRefused, "the twin's memory is too large"};
      left -= size;
      Region& region = regions.emplace_back(Region{run.start, std::vector<uint8_t>(size)});
      region.bytes.resize(memory->Read(run.start, region.bytes));
    }
  }
  return regions;
}

}  // namespace

Result<Report> ReportOf(pid_t process, const std::string& program, std::optional<TargetAddress> pc) {
  Report report;
  report.mappings = ParseMaps(ReadProcFile(process, "maps"));
  std::error_code error;
  const std::string path = std::filesystem::canonical(program, error);
  report.modules = ModulesFromMappings(report.mappings, path);
  if (error || !report.program()) return Error{Errc::kRefused, "the twin is not loaded there"};
  std::optional<Registers> registers = RegistersOf(process);
  if (!registers) return Error{Errc::kRefused, "the twin cannot be asked for its registers"};
  Thread& thread = report.threads.emplace_back();
  thread.id = process;
  thread.failing = true;
  thread.registers = *std::move(registers);
  if (!pc) return report;
  thread.registers.dwarf[kProgramCounter] = pc->value;
  Result<std::vector<Region>> memory = WritableMemory(process, report.mappings);
  if (!memory) return memory.error();
  report.memory = *std::move(memory);
  std::ranges::sort(report.memory, {}, &Region::address);
  return report;
}

Status TwinReplay::Run(const Round& round, bool to_its_end) {
  const Result<Verdict> verdict = RunTraced(replays_, position_, start_, options_.seconds, round);
  if (!verdict) return verdict.error();
  if (!to_its_end || *verdict == Verdict::kReproduced) return Ok{};
  return Error{Errc::kRefused,
               "frame " + std::to_string(outer().index) + " replayed in the twin: " + VerdictText(*verdict)};
}

// Innermost first; the outer frame is the last one.
std::vector<FrameEntry> TwinReplay::EntriesIn(pid_t process) const {
  std::vector<FrameEntry> entries;
  const Result<Report> twin = ReportOf(process, options_.replay.twin, std::nullopt);
  for (const EntryInTwin& entry : twin ? options_.entries_in_twin(*twin) : std::vector<EntryInTwin>())
    if (entry.frame <= outer().index) entries.push_back({entry.frame, entry.address.value, 0, 0, std::nullopt});
  std::ranges::sort(entries, {}, &FrameEntry::frame);
  return entries;
}

Status TwinReplay::CountCalls() {
  calls_ = {};
  std::map<uint64_t, uint64_t> often;
  Round round;
  round.on_loaded = [&](TracedProgram& program) {
    if (entries_.empty()) entries_ = EntriesIn(program.pid());
    for (const FrameEntry& entry : entries_) program.Arm(entry.entry);
  };
  round.on_entry = [&](TracedProgram&, uint64_t entry, uint64_t sp) {
    calls_.Enter(entry, sp);
    return ++often[entry] < kOften ? AtEntry::kGoOn : AtEntry::kDisarm;
  };
  entries_.clear();
  if (const Status counted = Run(round, true); !counted) return counted;
  // Of a function that is no longer counted nothing is known.
  std::erase_if(entries_, [&](const FrameEntry& entry) { return often[entry.entry] >= kOften; });
  return Ok{};
}

// Of the frames of one function, those outside are entered before.
LiveCall TwinReplay::CallOf(uint32_t frame) const {
  const auto found = std::ranges::find(entries_, frame, &FrameEntry::frame);
  if (found == entries_.end()) return {};
  const auto outside =
      std::count_if(found, entries_.end(), [&](const FrameEntry& other) { return other.entry == found->entry; });
  return calls_.FromOutside(found->entry, static_cast<size_t>(outside));
}

Status TwinReplay::Visit(const std::set<uint32_t>& frames, const std::function<void(uint32_t, const Report&)>& at) {
  if (Status counted = CountCalls(); !counted) {
    start_.sealed = !start_.sealed;
    if (!CountCalls()) return counted;
  }
  std::map<uint32_t, uint64_t> numbers;
  for (const uint32_t frame : frames)
    if (const LiveCall call = CallOf(frame); call.number != 0) numbers[frame] = call.number;
  // The twin may lie elsewhere in another process.
  std::map<uint64_t, uint64_t> entered;
  entries_.clear();
  Round round;
  round.on_loaded = [&](TracedProgram& program) {
    if (entries_.empty()) entries_ = EntriesIn(program.pid());
    for (const FrameEntry& entry : entries_)
      if (numbers.contains(entry.frame)) program.Arm(entry.entry);
  };
  round.on_entry = [&](TracedProgram& program, uint64_t entry, uint64_t) {
    ++entered[entry];
    for (const FrameEntry& frame : entries_) {
      const auto number = numbers.find(frame.frame);
      if (frame.entry != entry || number == numbers.end() || number->second != entered[entry]) continue;
      const Result<Report> process = ReportOf(program.pid(), options_.replay.twin, TargetAddress{entry});
      if (process) at(frame.frame, *process);
      numbers.erase(number);
    }
    return numbers.empty() ? AtEntry::kLetGo : AtEntry::kGoOn;
  };
  return numbers.empty() ? Status(Ok{}) : Run(round, false);
}

}  // namespace recrash
