#include "agent/collector/discretion.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "agent/base/signal_safe/marked_place.h"
#include "agent/base/signal_safe/masking.h"
#include "agent/report/pages.h"

namespace recrash {

using signal_safe::Masker;

Status Discretion::Read(const PageSource& memory, TargetAddress table) {
  if (table.value == 0) return Ok{};
  const Error damaged{Errc::kRefused, "the table of values to be masked is damaged"};
  abi::MarkedValues marked;
  if (memory.Read(table, {reinterpret_cast<uint8_t*>(&marked), sizeof marked}) != sizeof marked ||
      marked.count > abi::kMostMarked)
    return damaged;
  knows_all_ = marked.refused == 0;
  std::vector<std::vector<uint8_t>> contents;
  uint64_t bytes = 0;
  const auto read = [&](uint64_t address, void* out, uint64_t size) -> uint64_t {
    return memory.Read({address}, {static_cast<uint8_t*>(out), size});
  };
  for (const abi::MarkedValue& entry : std::span(marked.values, marked.count)) {
    const abi::MarkedValue value = signal_safe::PlaceOf(entry, read);
    if (value.size == 0) continue;
    if (value.size > abi::kMostMarkedBytes - bytes || value.address > UINT64_MAX - value.size) return damaged;
    bytes += value.size;
    values_.push_back(value);
    std::vector<uint8_t>& content = contents.emplace_back(value.size);
    content.resize(memory.Read({value.address}, content));  // its memory may be gone
  }
  slots_.resize(Masker::SlotsFor(bytes));
  Masker masker(slots_.data(), slots_.size());
  for (const std::vector<uint8_t>& content : contents) masker.Add(content.data(), content.size());
  return Ok{};
}

void Discretion::Mask(std::span<uint8_t> bytes) const {
  if (!values_.empty()) Masker(slots_.data(), slots_.size()).Mask(bytes.data(), bytes.size());
}

void Discretion::Mask(std::string* text) const { Mask({reinterpret_cast<uint8_t*>(text->data()), text->size()}); }

void Discretion::Mask(Registers* registers) const {
  for (uint64_t& word : registers->dwarf) Mask({reinterpret_cast<uint8_t*>(&word), sizeof word});
  Mask(std::span(registers->fxsave));
}

namespace {

constexpr size_t kBeside = signal_safe::kMaskedWindow - 1;

// The bytes on both sides of an edge of a region, as they are in the process, without the region's neighbour.
class Edge {
 public:
  Edge(const PageSource& memory, TargetAddress at) {
    if (at.value < kBeside || at.value > UINT64_MAX - kBeside) return;
    memory.Read({at.value - kBeside}, std::span(bytes_).first(kBeside));
    memory.Read(at, std::span(bytes_).last(kBeside));
  }
  // What the region has there, `count` bytes before the edge or behind it; they may be of another moment.
  void PutBefore(const uint8_t* bytes, size_t count) { std::copy_n(bytes, count, bytes_.begin() + kBeside - count); }
  void PutBehind(const uint8_t* bytes, size_t count) { std::copy_n(bytes, count, bytes_.begin() + kBeside); }
  std::span<uint8_t> bytes() { return bytes_; }
  const uint8_t* Before(size_t count) const { return bytes_.data() + kBeside - count; }
  const uint8_t* Behind() const { return bytes_.data() + kBeside; }

 private:
  std::array<uint8_t, 2 * kBeside> bytes_{};
};

void TakeMasks(const uint8_t* masked, std::span<uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    if (masked[i] == signal_safe::kMask) bytes[i] = signal_safe::kMask;
}

}  // namespace

// An occurrence may lie over an edge: in two mappings side by side, or in a page that the report has and one that it
// has not. So windows over the edges are looked for, too, before the bytes within are changed.
void Discretion::MaskAt(const PageSource& memory, TargetAddress address, std::span<uint8_t> bytes) const {
  const size_t count = std::min(kBeside, bytes.size());
  Edge start(memory, address), end(memory, address + bytes.size());
  start.PutBehind(bytes.data(), count);
  end.PutBefore(bytes.data() + bytes.size() - count, count);
  Mask(start.bytes());
  Mask(end.bytes());
  Mask(bytes);
  TakeMasks(start.Behind(), bytes.first(count));
  TakeMasks(end.Before(count), bytes.last(count));
}

void Discretion::MaskMemory(const PageSource& memory, TargetAddress address, std::span<uint8_t> bytes) const {
  if (values_.empty()) return;
  MaskAt(memory, address, bytes);
  // The places themselves, however short their values are, and whatever was in them at an entry.
  for (const abi::MarkedValue& value : values_) {
    const uint64_t from = std::max(value.address, address.value);
    const uint64_t to = std::min(value.address + value.size, address.value + bytes.size());
    if (from < to) std::memset(&bytes[from - address.value], signal_safe::kMask, to - from);
  }
}

void Discretion::Mask(const PageSource& memory, std::vector<Region>* regions) const {
  for (Region& region : *regions) MaskMemory(memory, region.address, region.bytes);
}

void Discretion::MaskFiles(std::vector<OpenFile>* files) const {
  for (OpenFile& file : *files) Mask(&file.path);
}

void Discretion::MaskSnapshots(const PageSource& memory, SnapshotLog* snapshots) const {
  ChangeLayers(&snapshots->states, [&](EntryMemory::Layer* layer) { Mask(memory, layer); });
  for (EntryState& state : snapshots->states) {
    MaskFiles(&state.files);
    for (uint64_t& word : state.registers.integer) Mask({reinterpret_cast<uint8_t*>(&word), sizeof word});
    for (auto& vector : state.registers.vector) Mask(std::span(vector));
  }
}

void Discretion::Apply(const PageSource& memory, Report* report) const {
  if (values_.empty()) return;
  Process& process = report->process;
  Failure& failure = report->failure;
  for (std::string* text :
       {&process.working_directory, &process.options, &failure.abort_message, &failure.exception_what, &failure.reason})
    Mask(text);
  for (std::string& argument : process.arguments) Mask(&argument);
  Mask({reinterpret_cast<uint8_t*>(&failure.address.value), sizeof failure.address.value});
  for (Thread& thread : report->threads) {
    Mask(&thread.name);
    Mask(&thread.registers);
  }
  for (Mapping& mapping : report->mappings) Mask(&mapping.path);
  MaskFiles(&report->files);
  for (Input& input : report->inputs) {
    for (std::string& name : input.names) Mask(&name);
    Mask(&input.path);
    Mask(std::span(input.bytes));
  }
  for (Note& note : report->notes) {
    Mask(&note.key);
    Mask(&note.value);
  }
  for (KeptLog& log : report->logs) {
    Mask(&log.path);
    Mask(std::span(log.tail));
  }
  for (std::string& loss : report->losses) Mask(&loss);
  const auto mask_stack = [&](ThrownStack* stack) {
    Mask(&stack->registers);
    MaskAt(memory, stack->address, stack->bytes);
  };
  if (report->thrown) mask_stack(&*report->thrown);
  if (report->replaced) {
    Mask(&report->replaced->what);
    mask_stack(&report->replaced->stack);
  }
  Mask(memory, &report->memory);
  if (report->snapshots) MaskSnapshots(memory, &*report->snapshots);
  report->losses.push_back("what the program has marked as sensitive: " + std::to_string(values_.size()) +
                           " values are masked wherever they were");
}

}  // namespace recrash
