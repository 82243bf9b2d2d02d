#include "testgen/minimise/minimise.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "testgen/literals/start_memory.h"
#include "testgen/minimise/names.h"
#include "testgen/minimise/reduce.h"
#include "testgen/minimise/trials.h"
#include "testgen/verify/needed.h"
#include "testgen/verify/replays.h"

namespace recrash {
namespace {

constexpr uint64_t kWord = 8;
constexpr size_t kWidth = 4;

std::optional<uint32_t> PositionOf(const TestReport& report, uint32_t index) {
  const auto found = std::ranges::find(report.replay.frames, index, &ReplayFrame::index);
  if (found == report.replay.frames.end()) return std::nullopt;
  return static_cast<uint32_t>(found - report.replay.frames.begin());
}

// The pages that a replay of the frame touches. All of them, if it does not reproduce when it is watched: a page that
// the kernel alone looks at is refused to it then.
Result<std::vector<TargetAddress>> TouchedBy(const TestReport& report, uint32_t position, const VerifyOptions& options,
                                             const std::vector<TargetAddress>& pages) {
  Result<Replays> replays = Replays::Prepare(report, options, JoinToRanges(pages));
  if (!replays) return replays.error();
  bool reproduced = false;
  const auto once = [&](size_t, const Try* outcome) -> std::optional<Start> {
    if (!outcome) return report.replay.frames[position].start;
    reproduced = outcome->verdict == Verdict::kReproduced;
    return std::nullopt;
  };
  if (const Status status = replays->Run({position}, once); !status) return status.error();
  if (!reproduced) return pages;
  std::vector<TargetAddress> touched;
  for (size_t i = 0; i < pages.size(); ++i)
    if (replays->touched()[i]) touched.push_back(pages[i]);
  return touched;
}

// The search: parts, then words of those that are left, then bytes of these.
class Search {
 public:
  Search(const GivenMemory& given, uint64_t seed, Trials* trials) : trials_(trials) {
    std::vector<Patch> parts;
    for (const Part& part : given.parts) parts.push_back(part.bytes);
    all_ = Combine(parts);
    kept_ = Narrow(parts, 0, SearchFills(seed));
    kept_ = Narrow(CutInto(kept_, kWord), 0, SearchFills(seed));
    kept_ = Narrow(CutInto(kept_, 1), kWord / 2, SearchFillsOfBytes(seed));
  }

  // What has to be as it was, in the order of the parts.
  const std::vector<Patch>& kept() const { return kept_; }
  // What may be anything.
  Patch rest() const { return recrash::Without(all_, Combine(kept_)); }

 private:
  std::vector<Patch> Narrow(const std::vector<Patch>& pieces, size_t first_piece,
                            const std::vector<plan::Fill>& fills) {
    const auto rest_of = [&](const Subset& set) {
      std::vector<Patch> kept;
      for (const uint32_t i : set) kept.push_back(pieces[i]);
      return recrash::Without(all_, Combine(kept));
    };
    const Subset left = Reduce(pieces.size(), {kWidth, first_piece}, [&](const std::vector<Subset>& sets) {
      std::vector<Patch> patches;
      for (const Subset& set : sets) patches.push_back(rest_of(set));
      return trials_->AreSame(patches, fills);
    });
    std::vector<Patch> kept;
    for (const uint32_t i : left) kept.push_back(pieces[i]);
    return kept;
  }

  // At multiples of `size`.
  static std::vector<Patch> CutInto(const std::vector<Patch>& patches, uint64_t size) {
    std::vector<Patch> pieces;
    for (const Patch& patch : patches) {
      for (const ByteRange& range : patch.ranges())
        for (uint64_t at = range.start; at < range.end; at = at / size * size + size)
          pieces.push_back(Patch({{at, std::min(range.end, at / size * size + size)}}));
    }
    return pieces;
  }

  Trials* trials_;
  Patch all_;
  std::vector<Patch> kept_;
};

// Bytes that were kept, word by word.
std::vector<std::pair<uint64_t, uint8_t>> WordsOf(const std::vector<Patch>& kept) {
  std::vector<std::pair<uint64_t, uint8_t>> words;
  for (const Patch& patch : kept) {
    for (const ByteRange& range : patch.ranges()) {
      for (uint64_t at = range.start; at < range.end; ++at) {
        const uint64_t word = at / kWord * kWord;
        if (words.empty() || words.back().first != word) words.emplace_back(word, 0);
        words.back().second |= static_cast<uint8_t>(1u << (at - word));
      }
    }
  }
  return words;
}

const Part* PartAt(const GivenMemory& given, uint64_t address) {
  for (const Part& part : given.parts)
    if (address >= part.start && address - part.start < part.size) return &part;
  return nullptr;
}

std::vector<uint8_t> BytesAt(const ReplayFrame& frame, const StartMemory& memory, uint64_t address) {
  std::vector<uint8_t> bytes(kWord);
  for (const ReplayWord& word : frame.words) {
    const auto location = static_cast<uint32_t>(word.location);
    const uint64_t start = word.location == abi::Location::kStack ? frame.entry_sp.value + kWord + word.stack_offset
                                                                  : plan::RegisterAddress(location);
    const bool is_register = address < plan::kEndOfRegisters;
    if (is_register == (word.location == abi::Location::kStack) || address < start || address >= start + 16) continue;
    if (address - start >= word.size) continue;
    std::memcpy(bytes.data(), word.bytes.data() + (address - start), std::min<size_t>(kWord, 16 - (address - start)));
    return bytes;
  }
  if (!memory.Read(address, bytes)) bytes.clear();
  return bytes;
}

// A page that the report does not have was never written.
std::vector<uint8_t> BytesOrZeros(const ReplayFrame& frame, const StartMemory& memory, uint64_t address) {
  std::vector<uint8_t> bytes = BytesAt(frame, memory, address);
  return bytes.empty() ? std::vector<uint8_t>(kWord) : bytes;
}

std::string FillText(const plan::Fill& fill) {
  if (fill.kind == plan::Fill::kRandom) return "random bytes";
  return fill.byte == 0 ? "zeros" : fmt::format("bytes of {:#04x}", fill.byte);
}

// With all else as it was: is there something in its place with which the call returns?
void FindRole(uint64_t seed, Trials* trials, WhatMatters* item) {
  std::vector<ByteRange> bytes;
  const uint64_t start = item->address.value;
  for (uint64_t i = 0; i < kWord; ++i)
    if (item->mask >> i & 1) bytes.push_back({start + i, start + i + 1});
  std::vector<plan::Fill> fills = SearchFills(seed);
  const std::vector<plan::Fill> others = HeldOutFills(seed);
  fills.insert(fills.end(), others.begin(), others.end());
  const std::vector<Outcome> outcomes = trials->Run(Patch(std::move(bytes)), fills);
  const auto passes = std::ranges::find(outcomes, Outcome::kPasses);
  if (passes == outcomes.end()) return;
  item->role = Role::kCulprit;
  item->returns_with = FillText(fills[static_cast<size_t>(passes - outcomes.begin())]);
}

std::string HexOf(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof word));
  return fmt::format("{:#x}", word);
}

// Where types say nothing.
std::string PlaceOf(const Part& part, uint64_t address) {
  const uint64_t offset = address - part.start;
  switch (part.kind) {
    case PartKind::kRegister:
      return part.name;
    case PartKind::kGlobal:
      return part.size <= kWord ? part.name : fmt::format("{} at offset {}", part.name, offset);
    case PartKind::kBlock:
    case PartKind::kFreedBlock:
    case PartKind::kMappedBlock:
      return fmt::format("{} of {} bytes at {:#x}, offset {}", PartText(part.kind), part.size, part.start, offset);
    default:
      return fmt::format("{} at {:#x}", PartText(part.kind), address);
  }
}

void AddItems(const GivenMemory& given, const ReplayFrame& frame, const StartMemory& memory,
              const std::vector<Patch>& kept, Minimised* minimised) {
  std::set<const Part*> parts;
  for (const auto& [address, mask] : WordsOf(kept)) {
    WhatMatters item;
    item.address = {address};
    item.mask = mask;
    item.bytes = BytesOrZeros(frame, memory, address);
    const uint64_t first = address + static_cast<uint64_t>(std::countr_zero(mask));
    if (const Part* part = PartAt(given, first)) {
      item.kind = part->kind;
      item.part_start = part->start;
      item.part_size = part->size;
      item.path = PlaceOf(*part, first);
      parts.insert(part);
    }
    minimised->bytes += static_cast<uint64_t>(std::popcount(mask));
    minimised->items.push_back(std::move(item));
  }
  minimised->parts = parts.size();
}

void NameItems(const TestReport& report, const ReplayFrame& frame, const StartMemory& memory, Minimised* minimised) {
  std::map<uint64_t, uint8_t> words;
  for (const WhatMatters& item : minimised->items) words[item.address.value] = item.mask;
  WordNames names(report, frame, memory);
  names.Find(words);
  for (WhatMatters& item : minimised->items) {
    const NamedWord& named = names.at(item.address.value);
    if (!named.path.empty()) item.path = named.path;
    item.value = named.path.empty() ? HexOf(item.bytes) : named.value;
  }
}

}  // namespace

Result<Minimised> Minimise(const TestReport& report, uint32_t index, const MinimiseOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<uint32_t> position = PositionOf(report, index);
  if (!position) return Error{Errc::kMissing, "frame " + std::to_string(index) + " cannot be replayed"};
  const ReplayFrame& frame = report.replay.frames[*position];
  const StartMemory memory(report, frame);
  Result<std::vector<TargetAddress>> touched =
      TouchedBy(report, *position, options.verify, PagesToWatch(report, memory));
  if (!touched) return touched.error();
  const GivenMemory given = FindGivenMemory(report, frame, memory, *touched);
  Result<Trials> trials = Trials::Begin(report, options.verify, *position);
  if (!trials) return trials.error();

  Minimised minimised;
  minimised.frame = index;
  minimised.function = frame.function;
  minimised.given_parts = given.count;
  minimised.touched_parts = given.parts.size();
  trials->StopAfter(options.seconds);
  const Search search(given, options.seed, &*trials);
  if (trials->is_stopped()) minimised.limits = "the search was stopped: its time was up";
  if (trials->error()) return *trials->error();
  trials->StopAfter(options.seconds);  // what follows is short
  const std::vector<plan::Fill> held_out = HeldOutFills(options.seed);
  const std::vector<Outcome> agree = trials->Run(search.rest(), held_out);
  minimised.fills = static_cast<uint32_t>(held_out.size());
  minimised.agreeing_fills = static_cast<uint32_t>(std::ranges::count(agree, Outcome::kSame));
  AddItems(given, frame, memory, search.kept(), &minimised);
  NameItems(report, frame, memory, &minimised);
  for (WhatMatters& item : minimised.items) FindRole(options.seed, &*trials, &item);
  minimised.trials = trials->count();
  minimised.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return minimised;
}

}  // namespace recrash
