#include "agent/report/entry_log.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <string>

#include "agent/base/signal_safe/left_out.h"
#include "agent/report/entry_log/copied_states.h"
#include "agent/report/entry_log/log_tables.h"
#include "agent/report/maps.h"
#include "agent/report/pages.h"

namespace recrash {
namespace {

using record::LogFile;
using record::LogFileList;
using record::LogFrame;
using record::LogFunction;
using record::LogHeader;
using record::LogMapList;
using record::LogPage;
using record::LogPath;
using record::LogRange;
using record::LogVersion;
using record::Stop;

constexpr uint32_t kMostVersions = 1 << 22;  // 16 GiB, the most that the client reserves
constexpr uint32_t kMostDepth = 100;         // as the client's
constexpr std::array<uint8_t, kPageSize> kZeros{};

// ---- The log, copied -----------------------------------------------------------------------------------------------

// What a page holds at one moment.
struct Content {
  enum class Kind { kUnknown, kZeros, kVersion, kCrash } kind = Kind::kUnknown;
  uint32_t version = 0;
  bool operator==(const Content&) const = default;
};

class Log {
 public:
  Log(const PageSource& memory, const LogHeader& header)
      : memory_(memory),
        header_(header),
        versions_(ReadTable<LogVersion>(memory, header, header.versions, header.version_capacity + uint64_t{1})) {
    for (const LogPage& page : ReadTable<LogPage>(memory, header, header.pages, header.page_slots))
      if (page.address != 0 && page.address % kPageSize == 0) pages_[page.address] = page.newest;
  }

  bool is_whole() const { return !versions_.empty(); }
  const std::map<uint64_t, uint32_t>& pages() const { return pages_; }

  // Follows the chain from `version` on, to the newest version that is not younger than the snapshot; 0 where there is
  // none. Each version is passed once: where more are, chains do not end, or share what they have.
  uint32_t NotAfter(uint32_t version, uint64_t number) {
    for (; version != 0 && version < versions_.size(); version = versions_[version].older) {
      if (versions_[version].number <= number) return version;
      if (++passed_ > versions_.size()) return 0;
    }
    return 0;
  }
  bool has_tangled_chains() const { return passed_ > versions_.size(); }
  size_t version_count() const { return versions_.size(); }
  bool IsAbsent(uint32_t version) const { return versions_[version].absent != 0; }

  // Read once each. Null if it cannot be read.
  const uint8_t* BytesOf(uint32_t version) const {
    const auto [content, is_new] = contents_.try_emplace(version);
    std::vector<uint8_t>& bytes = content->second;
    if (is_new) {
      bytes.resize(kPageSize);
      const TargetAddress at = TargetAddress{header_.start} + header_.contents + uint64_t{version} * kPageSize;
      if (Fails("state_page") || memory_.Read(at, bytes) != kPageSize) bytes.clear();
    }
    return bytes.empty() ? nullptr : bytes.data();
  }

 private:
  const PageSource& memory_;
  const LogHeader& header_;
  std::vector<LogVersion> versions_;
  std::map<uint64_t, uint32_t> pages_;
  mutable std::map<uint32_t, std::vector<uint8_t>> contents_;
  size_t passed_ = 0;
};

// ---- Frames --------------------------------------------------------------------------------------------------------

// The thread whose stack pointer lies in the same mapping. Null when no thread's does: a handler with a stack of its
// own has interrupted the frame.
const Thread* ThreadOn(const Report& report, TargetAddress sp) {
  const Mapping* stack = report.FindMapping(sp);
  for (const Thread& thread : report.threads) {
    const TargetAddress top{thread.registers.sp()};
    if (stack && top >= stack->start && top < stack->end) return &thread;
  }
  return nullptr;
}

// A frame has returned when its return address is not where it was, or when it lies below its thread's stack pointer.
// A returned frame that both checks miss is harmless: the reader starts no frame there.
bool IsLive(const PageSource& memory, const Report& report, const LogFrame& frame) {
  const Thread* thread = ThreadOn(report, {frame.registers.sp});
  if (thread && frame.registers.sp < thread->registers.sp()) return false;
  uint64_t word = 0;
  return memory.ReadObject({frame.registers.sp}, &word) && word == frame.return_address;
}

// The functions that were entered. A function's stub counts entries down without calling the recorder: they are added.
std::vector<LogFunction> ReadFunctions(const PageSource& memory, const LogHeader& log) {
  constexpr uint32_t kMostFunctions = 1 << 22;
  const uint32_t count = std::min(log.function_count, log.function_capacity);
  if (count > kMostFunctions) return {};
  std::vector<LogFunction> functions = ReadTable<LogFunction>(memory, log, log.functions, count);
  for (LogFunction& function : functions) {
    int32_t left = 0;
    if (function.counter == 0 || !memory.ReadObject({function.counter}, &left)) continue;
    if (left < function.skip) function.entries += static_cast<uint64_t>(int64_t{function.skip} - left);
  }
  return functions;
}

void KeepFunctions(const std::vector<LogFunction>& functions, SnapshotLog* out) {
  for (const LogFunction& function : functions) {
    if (function.entry == 0) continue;
    out->figures.entries += function.entries;
    out->functions.push_back(
        {{function.entry}, function.entries, function.snapshots, function.cpu_ns, function.inclusive_ns});
  }
}

// Entries that nobody saw may have ended the frame, and begun another one in its place.
bool HasUnseenEntries(const std::vector<LogFunction>& functions, const LogFrame& frame) {
  if (frame.function >= functions.size()) return true;
  const LogFunction& function = functions[frame.function];
  return function.entry != frame.registers.entry || function.entries - function.reached > frame.unseen;
}

std::vector<Mapping> MappingsOf(const LogMapList& list) {
  std::vector<Mapping> mappings;
  for (uint32_t i = 0; i < std::min(list.count, record::kMostRanges); ++i) {
    const LogRange& range = list.ranges[i];
    if (range.start >= range.end) continue;
    mappings.push_back({{range.start}, {range.end}, kMapRead | kMapWrite, 0, range.of_file ? "/" : ""});
  }
  return mappings;
}

// Modules of the report that had no writable mapping at the entry, and have one now.
std::vector<TargetAddress> NotLoaded(const std::vector<Mapping>& then, const Report& report) {
  std::vector<TargetAddress> bases;
  for (const Module& module : report.modules) {
    const auto is_its = [&](const Mapping& mapping) {
      return IsPrivateWritable(mapping) && mapping.start >= module.base && mapping.end <= module.base + module.size;
    };
    const auto now = std::ranges::find_if(report.mappings, is_its);
    if (now != report.mappings.end() && !FindMapping(then, now->start)) bases.push_back(module.base);
  }
  return bases;
}

std::vector<OpenFile> FilesOf(const LogFileList& list, const std::vector<LogPath>& paths) {
  std::vector<OpenFile> files;
  for (uint32_t i = 0; i < std::min(list.count, record::kMostFiles); ++i) {
    const LogFile& file = list.files[i];
    const std::string path =
        file.path < paths.size() ? std::string(paths[file.path].text, strnlen(paths[file.path].text, 496)) : "";
    files.push_back({file.descriptor, file.flags, file.offset, file.mode, file.size, path});
  }
  return files;
}

// ---- Memory --------------------------------------------------------------------------------------------------------

// The states of live frames, youngest first, each as the pages that differ from the state before it. The time is linear
// in pages for each frame, since the process stands still meanwhile.
class Differences {
 public:
  Differences(const PageSource& memory, Log& log, std::span<const PageRun> later, const Report& report)
      : memory_(memory), log_(log) {
    std::map<uint64_t, Page> pages;
    for (const auto& [address, newest] : log.pages()) pages[address] = {.address = address, .version = newest};
    for (const Region& region : report.memory) {
      for (uint64_t offset = 0; offset + kPageSize <= region.bytes.size(); offset += kPageSize) {
        Page& page = pages[region.address.value + offset];
        page.address = region.address.value + offset;
        page.at_crash = region.bytes.data() + offset;
      }
    }
    for (const PageRun& run : later) {
      for (uint64_t page = 0; page < run.pages; ++page) {
        const uint64_t address = run.start.value + page * kPageSize;
        pages[address].address = address;
        pages[address].is_later = true;
      }
    }
    for (const auto& [address, page] : pages) pages_.push_back(page);
    most_ = log.version_count() + pages_.size();
  }

  uint64_t unread() const { return unread_; }  // pages of states that are as at the crash instead

  // A page differs once for each of its versions, and once more where it had none. A log in which more do is damaged.
  Status Describe(uint64_t number, const std::vector<Mapping>& mappings, EntryMemory::Layer* layer) {
    *layer = To(number, mappings);
    if (!log_.has_tangled_chains() && changed_ <= most_) return Ok{};
    return Error{Errc::kDamaged, "their log is damaged: pages have more versions than there are"};
  }

 private:
  std::vector<Region> To(uint64_t number, const std::vector<Mapping>& mappings) {
    Pages changed;
    auto mapping = mappings.begin();
    for (Page& page : pages_) {
      while (mapping != mappings.end() && mapping->end.value <= page.address) ++mapping;
      if (mapping == mappings.end()) break;
      if (page.address < mapping->start.value) continue;  // not mapped then
      page.version = log_.NotAfter(page.version, number);
      const Content then = At(page, *mapping);
      if (then.kind == Content::Kind::kUnknown || then == page.later) continue;
      const uint8_t* bytes = BytesOf(then, page);
      if (bytes == nullptr) {
        ++unread_;
        continue;
      }
      const uint8_t* later = BytesOf(page.later, page);
      page.later = then;
      if (later && std::memcmp(bytes, later, kPageSize) == 0) continue;
      if (++changed_ > most_) return {};
      changed.emplace_hint(changed.end(), page.address, bytes);
    }
    return JoinPages(changed);
  }

  struct Page {
    uint64_t address = 0;
    const uint8_t* at_crash = nullptr;  // null where the report does not have it, or has it only later
    bool is_later = false;
    uint32_t version = 0;  // of the snapshot that came before here, or the newest
    Content later = {Content::Kind::kCrash};
  };

  // A page of the program's memory without a version had not been touched: it was zeros, or as in its file.
  Content At(const Page& page, const Mapping& mapping) const {
    if (page.version != 0 && log_.IsAbsent(page.version)) return {Content::Kind::kZeros};
    if (page.version != 0) return {Content::Kind::kVersion, page.version};
    return mapping.path.empty() ? Content{Content::Kind::kZeros} : Content{};
  }

  const uint8_t* BytesOf(const Content& content, const Page& page) const {
    switch (content.kind) {
      case Content::Kind::kVersion:
        return log_.BytesOf(content.version);
      case Content::Kind::kCrash:
        return page.is_later ? ReadPage(page.address) : page.at_crash;
      default:
        return kZeros.data();
    }
  }

  // Valid until the next one is read.
  const uint8_t* ReadPage(uint64_t address) const {
    return memory_.Read({address}, page_) == kPageSize ? page_.data() : nullptr;
  }

  const PageSource& memory_;
  Log& log_;
  std::vector<Page> pages_;  // ascending
  size_t changed_ = 0;
  size_t most_ = 0;
  mutable std::array<uint8_t, kPageSize> page_;
  uint64_t unread_ = 0;
};

// All but the memory.
EntryState Describe(const LogFrame& frame, const std::vector<Mapping>& mappings, std::vector<OpenFile> files,
                    const Report& report) {
  EntryState state;
  state.number = frame.number;
  state.registers = frame.registers;
  if (const Thread* thread = ThreadOn(report, {frame.registers.sp})) state.thread = thread->id;
  state.others_ran = frame.others_ran != 0;
  state.brk_end = {frame.brk_end};
  state.mappings = GoneMappings(mappings, report.mappings);
  for (Mapping& mapping : state.mappings) mapping.path.clear();  // its name is not known
  state.files = std::move(files);
  state.not_loaded = NotLoaded(mappings, report);
  return state;
}

// ---- What it cost, and why there is nothing ------------------------------------------------------------------------

SnapshotFigures FiguresOf(const LogHeader& log) {
  const record::LogFigures& figures = log.figures;
  SnapshotFigures out;
  out.taken = figures.taken;
  out.skipped_rate = figures.skipped_rate;
  out.skipped_budget = figures.skipped_budget;
  out.skipped_memory = figures.skipped_memory;
  out.skipped_pause = figures.skipped_pause;
  out.skipped_busy = figures.skipped_busy;
  out.cpu_ns = figures.cpu_ns;
  out.longest_pause_ns = figures.longest_pause_ns;
  out.entries_ns = figures.entries_ns;
  out.faults_ns = figures.faults_ns;
  out.pages_copied = figures.pages_copied;
  out.log_bytes = figures.most_versions * kPageSize;
  return out;
}

std::string WhyNoTracking(Stop stop, int error) {
  const std::string text = std::strerror(error);
  if (stop == Stop::kNoUserfaultfd)
    return "the kernel, or a filter of system calls, refuses userfaultfd (" + text + ")";
  return "the kernel cannot track writes asynchronously, which needs Linux 6.7 (" + text + ")";
}

std::string WhyStopped(const LogHeader& log) {
  const std::string error = std::strerror(log.stop_error);
  switch (log.stop) {
    case Stop::kNone:
      return "";
    case Stop::kNoUserfaultfd:
    case Stop::kNoWriteTracking:
      return "no entry states: " + WhyNoTracking(log.stop, log.stop_error);
    case Stop::kNoCopies:
      return "no entry states: the kernel, or a filter of system calls, refuses write tracking (" + error +
             "), and what would copy what arguments reach: process_vm_readv, and pipes";
    case Stop::kNotCopied:
      return "entry states were recorded until memory could not be copied (" + error + ")";
    case Stop::kNothingTells:
      return "no entry states: without /proc nothing tells what is mapped";
    case Stop::kNoMemory:
      return "no entry states: no memory for the log of snapshots";
    case Stop::kForked:
      return "no entry states: they were recorded in a parent process, and a child of fork has none of them";
    case Stop::kTooManyMappings:
      return "entry states were recorded until the program had more than " + std::to_string(record::kMostRanges) +
             " writable mappings";
    case Stop::kNotTracked:
      return "entry states were recorded until a mapping could not be watched";
    case Stop::kDescriptorsGone:
      return "entry states were recorded until the program closed the recorder's descriptors";
    case Stop::kTooManyRuns:
      return "entry states were recorded until memory was too scattered";
    case Stop::kNoAddressSpace:
      return "entry states were recorded until their table of pages was full";
  }
  return "entry states were recorded until something unknown happened";
}

void SayWhatIsMissing(const LogHeader& log, std::vector<std::string>* losses) {
  if (log.copy_depth != 0) {
    losses->push_back("entry states are copies of what arguments reached, to depth " + std::to_string(log.copy_depth) +
                      ": " + WhyNoTracking(log.why_copies, log.stop_error));
  }
  if (std::string why = WhyStopped(log); !why.empty()) losses->push_back(std::move(why));
}

// ---- States
// ------------------------------------------------------------------------------------------------------------

constexpr char kDamagedHere[] = "an entry state: the log of snapshots cannot be read there";

// The states of live frames, youngest first, each with the pages that differ from the state after it.
class States {
 public:
  States(const PageSource& memory, const LogHeader& log, Report* report)
      : memory_(memory),
        log_(log),
        functions_(ReadFunctions(memory, log)),
        versions_(memory, log),
        copies_(memory, log, *report),
        report_(report) {
    KeepFunctions(functions_, &*report->snapshots);
    if (Fails("log_paths")) return;
    paths_ = ReadTable<LogPath>(memory, log, log.paths, std::min(log.path_count, record::kMostPaths));
  }

  void Read(std::span<const PageRun> later) {
    std::vector<LogFrame> frames = ReadTable<LogFrame>(memory_, log_, log_.frames, log_.frame_count);
    if (log_.stop == Stop::kNoMemory || log_.stop == Stop::kForked) return;  // there is but a header
    if (std::string why = WhyNone(frames); !why.empty()) return Lose("no entry states: " + why);
    if (log_.copy_depth == 0) differences_.emplace(memory_, versions_, later, *report_);
    std::ranges::sort(frames, std::ranges::greater(), &LogFrame::number);
    for (const LogFrame& frame : frames)
      if (!Take(frame)) return;
    SayWhatIsUnknown();
    std::vector<EntryState>& states = report_->snapshots->states;
    std::ranges::reverse(states);
    std::ranges::reverse(layers_);
    std::vector<EntryMemory> memories = EntryMemory::Of(std::move(layers_));
    for (size_t i = 0; i < memories.size(); ++i) states[i].memory = std::move(memories[i]);
  }

 private:
  void Lose(std::string loss) { report_->losses.push_back(std::move(loss)); }

  std::string WhyNone(const std::vector<LogFrame>& frames) const {
    const bool has_frames = !frames.empty() || log_.frame_count == 0;
    const bool has_functions = !functions_.empty() || log_.function_count == 0;
    if (!versions_.is_whole() || !has_frames || !has_functions || Fails("log_tables"))
      return "the log of snapshots cannot be read";
    if (log_.unsure != 0 || Fails("unsure"))
      return "frames may have ended while another thread took a snapshot, so that it is not known which are live";
    return "";
  }

  // Returns false if there are no states after all.
  bool Take(const LogFrame& frame) {
    if (!IsLive(memory_, *report_, frame)) return true;
    const auto maps = ReadOne<LogMapList>(memory_, log_, log_.map_lists, frame.map_list);
    const auto files = ReadOne<LogFileList>(memory_, log_, log_.file_lists, frame.file_list);
    if (!maps || !files || frame.number >= last_ || Fails("state_lists")) {
      Lose(kDamagedHere);
      return true;
    }
    if (HasUnseenEntries(functions_, frame) || Fails("unseen")) {
      Lose("an entry state: its function was entered again without being seen, so that its frame may have ended");
      return true;
    }
    last_ = frame.number;
    has_all_files_ &= files->count < record::kMostFiles && !Fails("state_files");
    const std::vector<Mapping> mappings = MappingsOf(*maps);
    EntryState& state =
        report_->snapshots->states.emplace_back(Describe(frame, mappings, FilesOf(*files, paths_), *report_));
    EntryMemory::Layer* const layer = &layers_.emplace_back();
    const Status described = differences_ ? differences_->Describe(frame.number, mappings, layer)
                                          : copies_.Describe(frame, mappings, &state, layer);
    if (!described) {
      Lose("no entry states: " + described.error().message);
      report_->snapshots->states.clear();
    }
    return static_cast<bool>(described);
  }

  void SayWhatIsUnknown() {
    if (differences_ && differences_->unread() != 0)
      Lose(std::to_string(differences_->unread()) +
           " pages of entry states: the log of snapshots cannot be read there");
    if (log_.copy_depth != 0 && !copies_.knows_heap())
      Lose("the allocator's lists in entry states: the heap cannot be read, or not in time");
    if (!has_all_files_) Lose("open files of entry states beyond the first " + std::to_string(record::kMostFiles));
    if (log_.path_count != 0 && paths_.empty()) Lose("names of open files in entry states: they cannot be read");
  }

  const PageSource& memory_;
  const LogHeader& log_;
  const std::vector<LogFunction> functions_;
  Log versions_;
  CopiedStates copies_;
  std::optional<Differences> differences_;
  std::vector<LogPath> paths_;
  std::vector<EntryMemory::Layer> layers_;
  uint64_t last_ = UINT64_MAX;  // number of the state before
  bool has_all_files_ = true;
  Report* report_;
};

}  // namespace

std::optional<LogHeader> ReadLogHeader(const PageSource& memory, TargetAddress address, int32_t pid) {
  LogHeader log;
  if (address.value == 0 || Fails("log") || !memory.ReadObject(address, &log)) return std::nullopt;
  const bool is_ours = log.magic == record::kLogMagic && log.version == record::kLogVersion &&
                       log.header_size == sizeof log && log.start == address.value && log.pid == pid;
  if (!is_ours || log.size > UINT64_MAX - log.start || log.frame_count > record::kMostFrames ||
      log.version_capacity > kMostVersions || log.page_slots > 4 * kMostVersions || log.copy_depth > kMostDepth)
    return std::nullopt;
  return log;
}

void LeaveOutLog(const LogHeader& log, std::vector<Mapping>* mappings) {
  std::erase_if(*mappings, [&](const Mapping& mapping) {
    return mapping.start.value >= log.start && mapping.end.value <= log.start + log.size;
  });
  const auto is_heap = [](const Mapping& mapping) { return mapping.path == "[heap]"; };
  for (size_t i = 1; i < mappings->size();) {
    Mapping& before = (*mappings)[i - 1];
    const Mapping& mapping = (*mappings)[i];
    if (is_heap(before) && is_heap(mapping) && before.end == mapping.start && before.flags == mapping.flags) {
      before.end = mapping.end;
      mappings->erase(mappings->begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

void LeaveOutDescriptors(const LogHeader& log, std::vector<OpenFile>* files) {
  std::erase_if(*files, [&](const OpenFile& file) {
    return std::ranges::find(log.descriptors, file.descriptor) != std::end(log.descriptors);
  });
}

void ReadSnapshots(const PageSource& memory, const LogHeader& log, std::span<const PageRun> later, Report* report) {
  SayWhatIsMissing(log, &report->losses);
  report->snapshots.emplace().figures = FiguresOf(log);
  States(memory, log, report).Read(later);
}

}  // namespace recrash
