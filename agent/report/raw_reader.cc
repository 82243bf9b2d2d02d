// Two steps: the blocks are collected as they come, bounded by what the file really holds (nothing is packed here), and
// then told as a report. What the client could not work out in a dying process, modules and text of /proc, is worked
// out here.
#include "agent/report/raw_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>
#include <type_traits>

#include "agent/elf/elf_notes.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "shadowstack/raw_format.h"

namespace recrash {
namespace {

using raw::BlockKind;

constexpr uint64_t kMaxPayload = 16u << 20;  // of a block that is not memory; texts joined as well
constexpr uint64_t kMaxHead = 4096;
constexpr uint64_t kMaxThrownStack = 8u << 20;
constexpr size_t kMaxEntries = 1 << 20;  // of threads, files and module heads

// What the blocks hold, not yet understood.
struct Blocks {
  std::optional<abi::CrashRecord> record;
  raw::RawProcess process{};
  std::optional<abi::ThrowRecord> throw_record;
  std::vector<uint8_t> thrown_bytes;
  std::string executable, directory, command_line, maps, stat, abort_message;
  std::vector<raw::RawThread> threads;
  std::vector<OpenFile> files;
  std::map<uint64_t, std::vector<uint8_t>> heads;  // by address
  std::vector<Region> memory;
  bool complete = false;  // ended as it should
};

// A NUL-terminated text in an array that may be full.
template <size_t N>
std::string Text(const char (&array)[N]) {
  return std::string(array, strnlen(array, N));
}

class BlockReader {
 public:
  BlockReader(const InputFile& file, const ReadLimits& limits) : file_(file), limits_(limits) {}

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
        return ReadThrow();
      case BlockKind::kExecutable:
        return TakeRest(kMaxPayload, &blocks_.executable);
      case BlockKind::kDirectory:
        return TakeRest(kMaxPayload, &blocks_.directory);
      case BlockKind::kCommandLine:
        return TakeRest(kMaxPayload, &blocks_.command_line);
      case BlockKind::kMaps:
        return TakeRest(kMaxPayload, &blocks_.maps);
      case BlockKind::kStat:
        return TakeRest(kMaxPayload, &blocks_.stat);
      case BlockKind::kAbortMessage:
        return TakeRest(kMaxPayload, &blocks_.abort_message);
      case BlockKind::kThread:
        if (blocks_.threads.size() == kMaxEntries) return TooLong();
        return TakeStruct(&blocks_.threads.emplace_back());
      case BlockKind::kFile:
        return ReadFile();
      case BlockKind::kModuleHead:
        return ReadHead();
      case BlockKind::kMemory:
        return ReadMemory();
      case BlockKind::kEnd:
        break;
    }
    return Ok{};  // of a kind that came later
  }

  Status ReadThrow() {
    blocks_.thrown_bytes.clear();
    if (Status status = TakeStruct(&blocks_.throw_record.emplace()); !status) return status;
    return TakeRest(kMaxThrownStack, &blocks_.thrown_bytes);
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

  // Runs that touch become one region.
  Status ReadMemory() {
    raw::RawMemory run;
    if (Status status = TakeStruct(&run); !status) return status;
    if (payload_left() > raw::kMaxRun || memory_size_ + payload_left() > limits_.memory) return TooLong();
    if (run.address < memory_end_ || payload_left() > UINT64_MAX - run.address)
      return file_.Damaged("memory is out of order (at byte " + std::to_string(position_) + ")");
    if (payload_left() == 0) return Ok{};
    if (blocks_.memory.empty() || run.address != memory_end_) blocks_.memory.push_back({{run.address}, {}});
    memory_size_ += payload_left();
    memory_end_ = run.address + payload_left();
    return TakeRest(limits_.memory, &blocks_.memory.back().bytes);
  }

  const InputFile& file_;
  const ReadLimits limits_;
  Blocks blocks_;
  uint64_t position_ = 0;
  uint64_t end_ = 0;  // of the payload
  uint64_t memory_size_ = 0;
  uint64_t memory_end_ = 0;
};

// gregs has an order of its own.
Registers FromContext(const abi::CrashRecord& record, uint64_t fs_base) {
  constexpr int kOrder[abi::kRegisterCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                               REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                               REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  const greg_t* gregs = record.context.uc_mcontext.gregs;
  Registers registers;
  for (int i = 0; i < abi::kRegisterCount; ++i) registers.dwarf[i] = static_cast<uint64_t>(gregs[kOrder[i]]);
  registers.fs_base = fs_base;
  registers.eflags = static_cast<uint64_t>(gregs[REG_EFL]);
  registers.fxsave.assign(std::begin(record.fpstate), std::end(record.fpstate));
  return registers;
}

Failure MakeFailure(const Blocks& blocks) {
  const abi::CrashRecord& record = *blocks.record;
  Failure failure;
  failure.kind = static_cast<FailureKind>(record.kind);
  failure.signal = record.siginfo.si_signo;
  failure.code = record.siginfo.si_code;
  failure.address = {reinterpret_cast<uint64_t>(record.siginfo.si_addr)};
  failure.pc = {static_cast<uint64_t>(record.context.uc_mcontext.gregs[REG_RIP])};
  failure.abort_message = blocks.abort_message;
  failure.reason = Text(record.reason);
  if (failure.kind == FailureKind::kException && blocks.throw_record) {
    failure.exception_type = Text(blocks.throw_record->type);
    failure.exception_what = Text(blocks.throw_record->what);
  }
  return failure;
}

std::vector<Thread> MakeThreads(const Blocks& blocks) {
  const Registers registers = FromContext(*blocks.record, blocks.process.fs_base);
  std::vector<Thread> threads;
  for (const raw::RawThread& thread : blocks.threads) {
    threads.push_back({thread.id, Text(thread.name), thread.id == blocks.record->tid, {}});
    if (threads.back().failing) threads.back().registers = registers;
  }
  if (std::ranges::none_of(threads, &Thread::failing)) threads.push_back({blocks.record->tid, "", true, registers});
  return threads;
}

std::optional<ThrownStack> MakeThrown(const Blocks& blocks) {
  if (static_cast<FailureKind>(blocks.record->kind) != FailureKind::kException || !blocks.throw_record ||
      blocks.thrown_bytes.empty() || blocks.throw_record->stack_address > UINT64_MAX - blocks.thrown_bytes.size())
    return std::nullopt;
  ThrownStack thrown;
  std::ranges::copy(blocks.throw_record->registers, thrown.registers.dwarf.begin());
  thrown.registers.fs_base = blocks.process.fs_base;
  thrown.address = {blocks.throw_record->stack_address};
  thrown.bytes = blocks.thrown_bytes;
  return thrown;
}

std::vector<std::string> SplitArguments(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return arguments;
}

// proc(5): start_brk is the 47th field. The second, the program's name, may hold spaces and parentheses itself.
uint64_t BrkStart(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return 0;
  stat.remove_prefix(name_end + 1);
  for (int field = 3; field <= 47; ++field) {
    stat.remove_prefix(std::min(stat.find_first_not_of(' '), stat.size()));
    if (field < 47) stat.remove_prefix(std::min(stat.find(' '), stat.size()));
  }
  uint64_t address = 0;
  std::from_chars(stat.data(), stat.data() + stat.size(), address);
  return address;
}

Process MakeProcess(const Blocks& blocks, const std::vector<Mapping>& mappings) {
  Process process;
  process.pid = blocks.record->pid;
  process.program = blocks.executable;
  process.working_directory = blocks.directory;
  process.arguments = SplitArguments(blocks.command_line);
  process.options = Text(blocks.record->options);
  process.brk_start = {BrkStart(blocks.stat)};
  process.brk_end = {blocks.process.brk_end};
  auto heap = std::ranges::find(mappings, "[heap]", &Mapping::path);
  if (process.brk_start.value == 0 && heap != mappings.end()) process.brk_start = heap->start;
  process.stack_limit = blocks.process.stack_limit;
  process.crashed_at = blocks.process.realtime_ns;
  return process;
}

// What the head of a module cannot say, its file may, if it is still the same.
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

Report MakeReport(Blocks blocks) {
  Report report;
  report.mappings = ParseMaps(blocks.maps);
  report.process = MakeProcess(blocks, report.mappings);
  report.failure = MakeFailure(blocks);
  report.threads = MakeThreads(blocks);
  report.thrown = MakeThrown(blocks);
  report.modules = ModulesFromMappings(report.mappings, report.process.program, [&](const Mapping& first) {
    Result<ElfFacts> facts = LookUp(blocks, first);
    if (facts && first.path == report.process.program && !facts->notes.empty()) {
      report.process.mode = facts->notes.front().mode;
      report.process.version = facts->notes.front().version;
    }
    return facts;
  });
  report.files = std::move(blocks.files);
  report.memory = std::move(blocks.memory);
  report.losses.push_back("no collector was there: the other threads ran on while memory was kept, without registers");
  if (!blocks.complete) {
    report.memory_complete = false;
    report.losses.push_back("the raw report was cut before its end");
  }
  return report;
}

}  // namespace

Result<Report> ReadRawReport(const InputFile& file, const ReadLimits& limits) {
  Result<Blocks> blocks = BlockReader(file, limits).ReadAll();
  if (!blocks) return blocks.error();
  if (!blocks->record) return file.Damaged("holds no crash record");
  const abi::CrashRecord& record = *blocks->record;
  if (record.magic != abi::kCrashMagic || record.version != abi::kCrashVersion || record.size != sizeof record)
    return file.Damaged("its crash record is of version " + std::to_string(record.version) + " with " +
                        std::to_string(record.size) + " bytes, expected " + std::to_string(abi::kCrashVersion) +
                        " with " + std::to_string(sizeof record));
  if (record.kind < abi::FailureKind::kSignal || record.kind > abi::FailureKind::kReported)
    return file.Damaged("unknown kind of failure " + std::to_string(static_cast<uint32_t>(record.kind)));
  return MakeReport(std::move(*blocks));
}

}  // namespace recrash
