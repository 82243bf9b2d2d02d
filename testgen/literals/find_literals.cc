#include "testgen/literals/find_literals.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recrash/value.h"
#include "testgen/carry/recorded_heap.h"
#include "testgen/literals/shapes.h"
#include "testgen/literals/start_memory.h"
#include "testgen/literals/value_reader.h"

namespace recrash {
namespace {

constexpr uint64_t kMostObject = 4096;
constexpr int kMostMemberDepth = 3;

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

bool Overlap(const Ranges& some, const Ranges& others) {
  return std::ranges::any_of(some, [&](const auto& a) {
    return std::ranges::any_of(others, [&](const auto& b) { return a.first < b.second && b.first < a.second; });
  });
}

// The literals of one frame.
class Finder {
 public:
  Finder(const TestReport& report, const ReplayFrame& frame, Shapes* shapes)
      : report_(report),
        frame_(frame),
        shapes_(*shapes),
        memory_(report, frame),
        heap_(read_, report.process.brk_start.value, memory_.heap_end()) {}

  std::vector<Literal> Find() {
    for (const ReplayParameter& parameter : frame_.parameters)
      if (parameter.number != 0) Look(parameter);
    return std::move(found_);
  }

 private:
  struct Row {
    std::string path;
    Value value;
  };

  // In no freed block, and not in the frame of a function that has returned.
  bool IsLive(uint64_t address) const {
    if (const RecordedBlock* block = heap_.Find(address)) return block->in_use;
    if (heap_.Covers(address)) return false;
    const Mapping* stack = report_.FindMapping(frame_.entry_sp);
    return address >= frame_.entry_sp.value || !stack || report_.FindMapping({address}) != stack;
  }

  // The bytes of an argument as the call gets it; nothing if some are not known.
  std::optional<std::vector<uint8_t>> WordsOf(const ReplayParameter& parameter, uint64_t size) const {
    std::vector<uint8_t> bytes(size);
    size_t known = 0;
    for (const ReplayWord& word : frame_.words) {
      if (word.parameter != parameter.number || word.source_offset >= size) continue;
      const size_t fits = std::min<size_t>({word.size, size - word.source_offset, word.bytes.size()});
      std::memcpy(bytes.data() + word.source_offset, word.bytes.data(), fits);
      known += fits;
    }
    return known == size ? std::optional(bytes) : std::nullopt;
  }

  void Look(const ReplayParameter& parameter) {
    const std::string name = LiteralName(parameter);
    if (!names_.insert(name).second) return;
    const uint32_t place = shapes_.Add(parameter.type);
    const Shape shape = shapes_[place];
    if (shape.kind == ShapeKind::kAddress || parameter.indirect) {
      const uint32_t object = parameter.indirect ? place : shape.element;
      // A pointer to characters is a text, or a buffer whose size nobody knows.
      if (object == 0 || (shapes_[object].kind == ShapeKind::kInteger && shapes_[object].size == 1)) return;
      const auto pointer = WordsOf(parameter, sizeof(uint64_t));
      uint64_t address = 0;
      if (pointer) std::memcpy(&address, pointer->data(), sizeof address);
      std::vector<uint8_t> bytes(std::min(shapes_[object].size, kMostObject));
      // What a report leaves to the image cannot be written.
      if (address == 0 || bytes.empty() || !IsLive(address) || !report_.FindMapping({address})) return;
      if (!IsWritable(address) || !memory_.Read(address, bytes)) return;
      const bool is_by_value = parameter.indirect;
      Add(parameter, object, bytes, {{address, address + bytes.size()}}, is_by_value ? name : "*" + name,
          name + (is_by_value ? "." : "->"));
    } else if (shape.kind != ShapeKind::kOpaque && !IsPlain(shape)) {
      const auto bytes = WordsOf(parameter, shape.size);
      if (bytes && shape.size <= kMostObject) Add(parameter, place, *bytes, {}, name, name + ".");
    }
  }

  bool IsWritable(uint64_t address) const {
    const Mapping* mapping = report_.FindMapping({address});
    return mapping && (mapping->flags & kMapWrite);
  }

  // What the emitter writes as a variable of its own.
  static bool IsPlain(const Shape& shape) {
    return shape.kind == ShapeKind::kInteger || shape.kind == ShapeKind::kBool || shape.kind == ShapeKind::kReal ||
           shape.kind == ShapeKind::kCharacters;
  }

  void Add(const ReplayParameter& parameter, uint32_t place, std::span<const uint8_t> bytes, Ranges ranges,
           const std::string& whole, const std::string& prefix) {
    ValueReader reader(shapes_, read_, is_live_);
    std::vector<Row> rows;
    const Shape& shape = shapes_[place];
    bool is_whole = true;
    if (shape.kind == ShapeKind::kClass && !shape.is_wrapper) {
      is_whole = AddMembers(shape, bytes, prefix, 0, &reader, &rows);
    } else if (auto value = reader.Read(place, bytes)) {
      rows.push_back({whole, *std::move(value)});
    }
    if (rows.size() > kMostLiterals || reader.parts() > kMostParts) return;
    ranges.insert(ranges.end(), reader.blocks().begin(), reader.blocks().end());
    if (rows.empty() || Overlap(ranges, taken_)) return;
    taken_.insert(taken_.end(), ranges.begin(), ranges.end());
    for (Row& row : rows) found_.push_back({parameter.number, std::move(row.path), std::move(row.value), is_whole});
  }

  // Returns whether the rows say all that there is.
  bool AddMembers(const Shape& shape, std::span<const uint8_t> bytes, const std::string& prefix, int depth,
                  ValueReader* reader, std::vector<Row>* rows) {
    bool is_whole = true;
    for (const ShapeMember& member : shape.members) {
      const Shape& inner = shapes_[member.shape];
      const bool fits = member.offset <= bytes.size() && inner.size <= bytes.size() - member.offset;
      if (member.name.empty() || member.shape == 0 || !fits) {
        is_whole = false;
      } else if (inner.kind == ShapeKind::kClass && !inner.is_wrapper && depth < kMostMemberDepth) {
        const auto part = bytes.subspan(member.offset, inner.size);
        is_whole = AddMembers(inner, part, prefix + member.name + ".", depth + 1, reader, rows) && is_whole;
      } else if (auto value = reader->Member(member, bytes)) {
        rows->push_back({prefix + member.name, *std::move(value)});
      } else {
        is_whole = false;
      }
    }
    return is_whole;
  }

  const TestReport& report_;
  const ReplayFrame& frame_;
  Shapes& shapes_;
  StartMemory memory_;
  const ReadMemory read_ = [this](uint64_t address, std::span<uint8_t> out) { return memory_.Read(address, out); };
  const std::function<bool(uint64_t)> is_live_ = [this](uint64_t address) { return IsLive(address); };
  RecordedHeap heap_;
  Ranges taken_;  // what the literals so far are of
  std::set<std::string> names_;
  std::vector<Literal> found_;
};

}  // namespace

std::string LiteralName(const ReplayParameter& parameter) {
  if (parameter.name == "this") return "self";
  return parameter.name.empty() ? "argument" + std::to_string(parameter.number) : parameter.name;
}

Literals FindLiterals(TestReport* report) {
  Literals all;
  std::map<const ModuleImage*, Shapes> shapes;
  for (ReplayFrame& frame : report->replay.frames) {
    frame.literals.clear();
    const Module* module = report->FindModule(frame.entry);
    const ModuleImage* image = module ? report->replay.FindImage(*module) : nullptr;
    if (!image) continue;
    Shapes& known = shapes.try_emplace(image, image->types).first->second;
    std::vector<Literal> found = Finder(*report, frame, &known).Find();
    for (const Literal& literal : found) frame.literals.push_back({literal.path, DigestOf(literal.value)});
    all[frame.index] = std::move(found);
  }
  return all;
}

}  // namespace recrash
