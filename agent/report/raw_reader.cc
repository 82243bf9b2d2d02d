// Works in two steps. First it collects the blocks in their order; nothing is packed, so the size of the file bounds
// them. Then crash_record.h makes a report of them. Modules and texts of /proc, which a dying process cannot parse, are
// parsed here.
#include "agent/report/raw_reader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

#include "agent/base/ordinary_path.h"
#include "agent/base/signal_safe/register_order.h"
#include "agent/elf/elf_notes.h"
#include "agent/report/crash_record.h"
#include "agent/report/entry_log.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "shadowstack/raw_format.h"

namespace recrash {
namespace {

using raw::BlockKind;

constexpr uint64_t kMaxPayload = 16u << 20;  // of a block that is not memory; texts joined as well
constexpr uint64_t kMaxHead = 4096;
constexpr uint64_t kMaxThrownStack = 8u << 20;
constexpr uint64_t kMaxStack = 1 << 20;  // of RawExtent::kStack
constexpr size_t kMaxEntries = 1 << 20;  // of threads, files and module heads

struct RawThrow {
  std::optional<abi::ThrowRecord> record;
  std::vector<uint8_t> stack;
};

// The contents of the blocks, not yet parsed.
struct Blocks {
  std::optional<abi::CrashRecord> record;
  raw::RawProcess process{};
  RawThrow thrown;
  RawThrow replaced;
  CrashTexts texts;
  std::string maps;
  std::vector<raw::RawThread> threads;
  std::map<int32_t, raw::RawRegisters> registers;  // by thread
  std::vector<std::string> losses;                 // of memory
  std::vector<std::string> other_losses;
  std::vector<OpenFile> files;
  std::map<uint64_t, std::vector<uint8_t>> heads;  // by address
  std::vector<Region> memory;
  std::vector<Region> code;
  std::vector<raw::RawRange> withheld;
  std::optional<raw::RawEntryLog> entry_log;
  abi::Additions additions_head{};  // up to its states
  std::vector<abi::Addition> additions;
  std::vector<std::pair<raw::RawNamedFile, std::vector<uint8_t>>> named_files;  // with path and content
  bool complete = false;                                                        // the end block is there
};

class BlockReader {
 public:
  BlockReader(const InputFile& file, const ReadLimits& limits, RawExtent extent)
      : file_(file), limits_(limits), extent_(extent) {}

  Result<Blocks> ReadAll() {
    raw::RawHeader header;
    if (Status status = file_.ReadAt(0, &header, sizeof header); !status) return status.error();
    if (header.version > raw::kVersion)
      return Error{Errc::kUnsupportedVersion,
                   file_.path() + ": raw report version " + std::to_string(header.version) + ", newest understood is " +
                       std::to_string(raw::kVersion) +
                       "\n  read it with the release of recrash that the program was built with"};
    if (header.version == 0 || header.header_size < sizeof header || header.header_size > file_.size())
      return file_.Damaged("raw report version " + std::to_string(header.version) + " with a header of " +
                           std::to_string(header.header_size) + " bytes");
    position_ = header.header_size;
    while (left() >= sizeof(raw::RawBlock)) {
      raw::RawBlock block;
      if (Status status = Take(&block, sizeof block); !status) return status.error();
      if (block.kind == BlockKind::kEnd) {
        blocks_.complete = true;
        break;
      }
      if (block.length > left()) break;  // cut
      end_ = position_ + block.length;
      if (Status status = ReadBlock(block.kind); !status) return status.error();
      position_ = end_;
    }
    return std::move(blocks_);
  }

 private:
  uint64_t left() const { return file_.size() - position_; }
  uint64_t payload_left() const { return end_ - position_; }

  Status Take(void* out, size_t size) {
    Status status = file_.ReadAt(position_, out, size);
    position_ += size;
    return status;
  }

  Error TooLong() const {
    return file_.Damaged("a block with " + std::to_string(payload_left()) + " bytes more than possible (at byte " +
                         std::to_string(position_) + ")");
  }

  template <typename T>
  Status TakeStruct(T* out) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (payload_left() < sizeof(T))
      return file_.Damaged("a block of " + std::to_string(payload_left()) + " bytes, at least " +
                           std::to_string(sizeof(T)) + " expected (at byte " + std::to_string(position_) + ")");
    return Take(out, sizeof(T));
  }

  template <typename Bytes>
  Status TakeRest(uint64_t limit, Bytes* out) {
    if (payload_left() > limit || out->size() > limit - payload_left()) return TooLong();
    const size_t before = out->size();
    out->resize(before + payload_left());
    return Take(out->data() + before, out->size() - before);
  }

  Status ReadBlock(BlockKind kind) {
    switch (kind) {
      case BlockKind::kRecord:
        return TakeStruct(&blocks_.record.emplace());
      case BlockKind::kProcess:
        return TakeStruct(&blocks_.process);
      case BlockKind::kThrow:
        return ReadThrow(&blocks_.thrown);
      case BlockKind::kReplaced:
        return ReadThrow(&blocks_.replaced);
      case BlockKind::kExecutable:
        return TakeRest(kMaxPayload, &blocks_.texts.executable);
      case BlockKind::kDirectory:
        return TakeRest(kMaxPayload, &blocks_.texts.directory);
      case BlockKind::kCommandLine:
        return TakeRest(kMaxPayload, &blocks_.texts.command_line);
      case BlockKind::kMaps:
        return TakeRest(kMaxPayload, &blocks_.maps);
      case BlockKind::kStat:
        return TakeRest(kMaxPayload, &blocks_.texts.stat);
      case BlockKind::kAbortMessage:
        return TakeRest(kMaxPayload, &blocks_.texts.abort_message);
      case BlockKind::kThread:
        if (blocks_.threads.size() == kMaxEntries) return TooLong();
        return TakeStruct(&blocks_.threads.emplace_back());
      case BlockKind::kRegisters:
        return ReadRegisters();
      case BlockKind::kLoss:
        return TakeLoss(&blocks_.losses);
      case BlockKind::kOtherLoss:
        return TakeLoss(&blocks_.other_losses);
      case BlockKind::kFile:
        return ReadFile();
      case BlockKind::kModuleHead:
        return ReadHead();
      case BlockKind::kMemory:
        return extent_ == RawExtent::kMetadata ? Ok{} : ReadMemory();
      case BlockKind::kCode:
        return ReadCode();
      case BlockKind::kWithheld:
        if (blocks_.withheld.size() == kMaxEntries) return TooLong();
        return TakeStruct(&blocks_.withheld.emplace_back());
      case BlockKind::kEntryLog:
        return TakeStruct(&blocks_.entry_log.emplace());
      case BlockKind::kAdditions:
        return TakeAdditionsHead();
      case BlockKind::kAddition:
        if (blocks_.additions.size() == 2 * abi::kAdditionSlots) return TooLong();
        return TakeStruct(&blocks_.additions.emplace_back());
      case BlockKind::kNamedFile:
        return ReadNamedFile();
      case BlockKind::kEnd:
        break;
    }
    return Ok{};  // a kind of block that is newer than this reader
  }

  Status TakeLoss(std::vector<std::string>* losses) {
    if (losses->size() == kMaxEntries) return TooLong();
    return TakeRest(kMaxHead, &losses->emplace_back());
  }

  Status ReadThrow(RawThrow* thrown) {
    thrown->stack.clear();
    if (Status status = TakeStruct(&thrown->record.emplace()); !status) return status;
    return TakeRest(kMaxThrownStack, &thrown->stack);
  }

  Status ReadRegisters() {
    raw::RawRegisters registers;
    if (blocks_.registers.size() == kMaxEntries) return TooLong();
    Status status = TakeStruct(&registers);
    if (status) blocks_.registers[registers.id] = registers;
    return status;
  }

  Status TakeAdditionsHead() {
    constexpr size_t kHead = offsetof(abi::Additions, states);
    std::vector<uint8_t> head;
    if (Status status = TakeRest(kHead, &head); !status) return status;
    std::ranges::copy(head, reinterpret_cast<uint8_t*>(&blocks_.additions_head));
    return Ok{};
  }

  Status ReadNamedFile() {
    if (blocks_.named_files.size() == abi::kAdditionSlots) return TooLong();
    auto& [head, rest] = blocks_.named_files.emplace_back();
    if (Status status = TakeStruct(&head); !status) return status;
    if (head.path_size > kMaxHead || head.path_size > payload_left()) return TooLong();
    const uint64_t content = payload_left() - head.path_size;
    const bool is_log = head.kind != raw::NamedFileKind::kAttached;
    if (content > head.size || content > (is_log ? abi::kMostLogTail : abi::kMostAllAttached - attached_))
      return TooLong();
    if (!is_log) attached_ += content;
    return TakeRest(kMaxPayload, &rest);
  }

  Status ReadFile() {
    raw::RawFile file;
    if (blocks_.files.size() == kMaxEntries) return TooLong();
    if (Status status = TakeStruct(&file); !status) return status;
    blocks_.files.push_back({file.descriptor, file.flags, file.offset, file.mode, file.size, ""});
    return TakeRest(kMaxHead, &blocks_.files.back().path);
  }

  Status ReadHead() {
    raw::RawMemory head;
    if (blocks_.heads.size() == kMaxEntries) return TooLong();
    if (Status status = TakeStruct(&head); !status) return status;
    std::vector<uint8_t> bytes;
    Status status = TakeRest(kMaxHead, &bytes);
    blocks_.heads[head.address] = std::move(bytes);
    return status;
  }

  // The record stands before all memory.
  bool IsOfStack(uint64_t run) const {
    if (!blocks_.record) return false;
    const auto sp = static_cast<uint64_t>(blocks_.record->context.uc_mcontext.gregs[REG_RSP]);
    return memory_end_ > sp && run < sp + kMaxStack;
  }

  // Runs that touch become one region.
  Status ReadCode() {
    raw::RawMemory run;
    if (Status status = TakeStruct(&run); !status) return status;
    if (!blocks_.code.empty() || payload_left() > UINT64_MAX - run.address) return TooLong();
    return TakeRest(kMostKeptCode, &blocks_.code.emplace_back(Region{{run.address}, {}}).bytes);
  }

  Status ReadMemory() {
    raw::RawMemory run;
    if (Status status = TakeStruct(&run); !status) return status;
    if (payload_left() > raw::kMaxRun || memory_size_ + payload_left() > limits_.memory) return TooLong();
    if (run.address < memory_end_ || payload_left() > UINT64_MAX - run.address)
      return file_.Damaged("memory is out of order (at byte " + std::to_string(position_) + ")");
    if (payload_left() == 0) return Ok{};
    memory_end_ = run.address + payload_left();
    if (extent_ == RawExtent::kStack && !IsOfStack(run.address)) return Ok{};
    const Region* last = blocks_.memory.empty() ? nullptr : &blocks_.memory.back();
    if (last == nullptr || last->address.value + last->bytes.size() != run.address)
      blocks_.memory.push_back({{run.address}, {}});
    memory_size_ += payload_left();
    return TakeRest(limits_.memory, &blocks_.memory.back().bytes);
  }

  const InputFile& file_;
  const ReadLimits limits_;
  const RawExtent extent_;
  Blocks blocks_;
  uint64_t position_ = 0;
  uint64_t end_ = 0;  // of the payload
  uint64_t memory_size_ = 0;
  uint64_t memory_end_ = 0;
  uint64_t attached_ = 0;
};

Registers RegistersOf(const raw::RawRegisters& raw) {
  Registers registers;
  std::ranges::transform(kContextRegisters, registers.dwarf.begin(),
                         [&](int index) { return static_cast<uint64_t>(raw.general[index]); });
  registers.fs_base = raw.fs_base;
  registers.eflags = static_cast<uint64_t>(raw.general[REG_EFL]);
  registers.fxsave.assign(std::begin(raw.fpstate), std::end(raw.fpstate));
  return registers;
}

// The record holds the failing thread's registers, but for fs_base.
std::vector<Thread> MakeThreads(const Blocks& blocks) {
  std::vector<Thread> threads;
  for (const raw::RawThread& thread : blocks.threads) {
    threads.push_back({thread.id, TextOf(thread.name), false, {}});
    if (const auto found = blocks.registers.find(thread.id); found != blocks.registers.end())
      threads.back().registers = RegistersOf(found->second);
  }
  auto failing = std::ranges::find(threads, blocks.record->tid, &Thread::id);
  if (failing == threads.end()) failing = threads.insert(failing, {blocks.record->tid, "", false, {}});
  failing->registers.fs_base = blocks.process.fs_base;
  return threads;
}

// The module's file, if it is still the one that was loaded: it tells what its head in memory does not.
std::optional<ElfFacts> SameFile(const Mapping& mapping, const ElfFacts& head) {
  Result<ElfFacts> file = LookupFiles()(mapping);
  const auto same = [](const ElfLoad& a, const ElfLoad& b) {
    return a.offset == b.offset && a.vaddr == b.vaddr && a.file_size == b.file_size && a.memory_size == b.memory_size;
  };
  if (!file || !std::ranges::equal(file->loads, head.loads, same)) return std::nullopt;
  if (!head.build_id.empty() && file->build_id != head.build_id) return std::nullopt;
  return *file;
}

Result<ElfFacts> LookUp(const Blocks& blocks, const Mapping& mapping) {
  auto found = blocks.heads.find(mapping.start.value);
  if (found == blocks.heads.end()) return LookupFiles()(mapping);
  Result<ElfFacts> head = ParseElfHead(found->second, mapping.path);
  if (!head) return head;
  if (std::optional<ElfFacts> file = SameFile(mapping, *head)) return *file;
  return head;
}

void TakeNamedFile(const raw::RawNamedFile& head, std::span<const uint8_t> rest, Report* report) {
  const std::string path(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(head.path_size));
  const std::span<const uint8_t> content = rest.subspan(head.path_size);
  const bool is_attached = head.kind == raw::NamedFileKind::kAttached;
  const auto lose = [&](const char* why) {
    report->losses.push_back((is_attached ? "attached file " : "log ") + path + ": " + why);
  };
  if (head.unreadable != 0 || !IsOrdinaryPath(path)) return lose("it is not there, no regular file, or cannot be read");
  if (is_attached && content.size() != head.size) return lose("it is too large, or all attached files are");
  const std::vector<uint8_t> bytes(content.begin(), content.end());
  if (is_attached) {
    report->inputs.push_back({{}, path, head.size, "", InputContent::kHeld, bytes, true});
  } else {
    const bool is_named = head.kind == raw::NamedFileKind::kLog;
    report->logs.push_back({is_named ? LogKind::kNamed : LogKind::kStandardError, path, head.size, bytes});
  }
}

Report MakeReport(Blocks blocks, const ReadLimits& limits, RawExtent extent) {
  Report report;
  report.mappings = ParseMaps(blocks.maps);
  LeaveOutAdditions({blocks.additions_head.address}, &report.mappings);
  const std::optional<raw::RawEntryLog>& log = blocks.entry_log;
  if (log) LeaveOutLog(HeaderOf(*log), &report.mappings);
  for (const raw::RawRange& range : blocks.withheld) Withhold({range.start}, {range.end}, &report.mappings);
  report.threads = MakeThreads(blocks);
  TakeRecord(*blocks.record, blocks.texts, &report);
  report.process.brk_end = {blocks.process.brk_end};
  report.process.stack_limit = blocks.process.stack_limit;
  report.process.crashed_at = blocks.process.realtime_ns;
  RawThrow &thrown = blocks.thrown, &replaced = blocks.replaced;
  if (thrown.record) TakeThrow(*thrown.record, std::move(thrown.stack), &report);
  if (replaced.record) TakeReplaced(*replaced.record, std::move(replaced.stack), &report);
  TakeAdditions(blocks.additions_head, std::move(blocks.additions), &report);
  for (const auto& [head, rest] : blocks.named_files) TakeNamedFile(head, rest, &report);
  TakeModules([&](const Mapping& first) { return LookUp(blocks, first); }, &report);
  report.files = std::move(blocks.files);
  if (log) LeaveOutDescriptors(HeaderOf(*log), &report.files);
  report.code.kept = std::move(blocks.code);
  report.memory = CutAtMappings(std::move(blocks.memory), report.mappings);
  report.losses.push_back("input files and a minidump: the program wrote this report itself, without a collector");
  report.memory_complete = blocks.complete && blocks.losses.empty();
  if (log && extent == RawExtent::kAll) ReadKeptLog(*log, report.memory_complete, limits.memory, &report);
  DropWithheld(&report);
  std::ranges::move(blocks.losses, std::back_inserter(report.losses));
  std::ranges::move(blocks.other_losses, std::back_inserter(report.losses));
  if (!blocks.complete) {
    report.losses.push_back("the raw report was cut before its end");
  }
  JoinLosses(&report.losses);
  return report;
}

}  // namespace

Result<Report> ReadRawReport(const InputFile& file, const ReadLimits& limits, RawExtent extent) {
  Result<Blocks> blocks = BlockReader(file, limits, extent).ReadAll();
  if (!blocks) return blocks.error();
  if (!blocks->record) return file.Damaged("holds no crash record");
  const abi::CrashRecord& record = *blocks->record;
  if (!IsOfThisVersion(record))
    return file.Damaged("its crash record is of version " + std::to_string(record.version) + " with " +
                        std::to_string(record.size) + " bytes, expected " + std::to_string(abi::kCrashVersion) +
                        " with " + std::to_string(sizeof record));
  if (record.kind < abi::FailureKind::kSignal || record.kind > abi::FailureKind::kReported)
    return file.Damaged("unknown kind of failure " + std::to_string(static_cast<uint32_t>(record.kind)));
  return MakeReport(std::move(*blocks), limits, extent);
}

}  // namespace recrash
