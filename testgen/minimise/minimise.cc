#include "testgen/minimise/minimise.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

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
// Words, of which the bytes are tried one by one.
constexpr size_t kMostNarrowed = 100;
// Of the time. The rest is for what each word does.
constexpr double kShareOfSearch = 0.7;
// The C library and the loader have some pages in each program.
constexpr uint64_t kMuchFixed = 64 << 10;

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

// Makes patches of pieces, of which there may be many, in their order in memory.
class Filler {
 public:
  Filler(const Patch& all, const std::vector<Patch>& pieces)
      : always_(Without(all, Combine(pieces)).ranges()), count_(pieces.size()) {
    for (size_t i = 0; i < pieces.size(); ++i)
      for (const ByteRange& range : pieces[i].ranges()) ranges_.emplace_back(range, i);
    std::ranges::sort(ranges_);
  }

  // All but the pieces of the set.
  Patch AllBut(const Subset& set) const {
    std::vector<bool> is_kept(count_);
    for (const uint32_t i : set) is_kept[i] = true;
    std::vector<ByteRange> filled;
    for (const auto& [range, piece] : ranges_)
      if (!is_kept[piece]) filled.push_back(range);
    std::vector<ByteRange> merged;
    std::ranges::merge(always_, filled, std::back_inserter(merged));
    return Patch(std::move(merged));
  }

 private:
  std::vector<ByteRange> always_;
  size_t count_;
  std::vector<std::pair<ByteRange, size_t>> ranges_;
};

// The search: parts, then words of those that are left, then bytes of these. Pointers stay whole: a part of one leads
// to other memory, which may well do the same.
class Search {
 public:
  using IsPointer = std::function<bool(uint64_t word)>;

  Search(const GivenMemory& given, uint64_t seed, const IsPointer& is_pointer, Trials* trials) : trials_(trials) {
    std::vector<Patch> parts;
    for (const Part& part : given.parts) parts.push_back(part.bytes);
    all_ = Combine(parts);
    kept_ = Narrow(parts, 0, SearchFills(seed));
    kept_ = Narrow(CutInto(kept_, kWord), 0, SearchFills(seed));
    std::vector<Patch> others;
    for (Patch& word : kept_) {
      const bool is_whole = word.size() == kWord && is_pointer(word.ranges().front().start);
      (is_whole ? whole_ : others).push_back(std::move(word));
    }
    const bool is_short = others.size() <= kMostNarrowed;
    kept_ = is_short ? Narrow(CutInto(others, 1), kWord / 2, SearchFillsOfBytes(seed)) : std::move(others);
    kept_.insert(kept_.end(), whole_.begin(), whole_.end());
  }

  // What has to be as it was.
  const std::vector<Patch>& kept() const { return kept_; }

 private:
  std::vector<Patch> Narrow(const std::vector<Patch>& pieces, size_t first_piece,
                            const std::vector<plan::Fill>& fills) {
    const Filler filler(Without(all_, Combine(whole_)), pieces);
    const Subset left = Reduce(pieces.size(), {kWidth, first_piece}, [&](const std::vector<Subset>& sets) {
      std::vector<Patch> patches;
      for (const Subset& set : sets) patches.push_back(filler.AllBut(set));
      std::vector<bool> same = trials_->AreSame(patches, fills);
      if (trials_->is_stopped()) same.clear();
      return same;
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
  std::vector<Patch> whole_;  // words that are kept, and no longer tried
};

// Bytes that were kept, word by word.
std::map<uint64_t, uint8_t> WordsOf(const std::vector<Patch>& kept) {
  std::map<uint64_t, uint8_t> words;
  for (const Patch& patch : kept) {
    for (const ByteRange& range : patch.ranges())
      for (uint64_t at = range.start; at < range.end; ++at)
        words[at / kWord * kWord] |= static_cast<uint8_t>(1u << at % kWord);
  }
  return words;
}

// Its place among the parts, which is the order of items; the number of parts: there is none.
class PartFinder {
 public:
  explicit PartFinder(const GivenMemory& given) : parts_(given.parts) {
    for (size_t i = 0; i < parts_.size(); ++i) by_start_.emplace(parts_[i].start, i);
  }

  size_t PartAt(uint64_t address) const {
    const auto after = by_start_.upper_bound(address);
    if (after == by_start_.begin()) return parts_.size();
    const size_t number = std::prev(after)->second;
    return address - parts_[number].start < parts_[number].size ? number : parts_.size();
  }

 private:
  const std::vector<Part>& parts_;
  std::map<uint64_t, size_t> by_start_;
};

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

uint64_t NumberOf(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof word));
  return word;
}

// A page that the report does not have was never written.
std::vector<uint8_t> BytesOrZeros(const ReplayFrame& frame, const StartMemory& memory, uint64_t address) {
  std::vector<uint8_t> bytes = BytesAt(frame, memory, address);
  return bytes.empty() ? std::vector<uint8_t>(kWord) : bytes;
}

std::string FillText(const plan::Fill& fill) {
  if (fill.kind == plan::Fill::kRandom) return "random bytes";
  if (fill.kind == plan::Fill::kNumber) return std::to_string(fill.seed);
  if (fill.kind == plan::Fill::kZeros) return "a pointer to zeros";
  return fill.byte == 0 ? "zeros" : fmt::format("bytes of {:#04x}", fill.byte);
}

// With all else as it was: is there something in its place with which the call returns?
// What a program may well have there comes first.
void FindRole(const TestReport& report, uint64_t seed, Trials* trials, WhatMatters* item) {
  // From the first byte that matters to the last.
  const uint64_t start = item->address.value + static_cast<uint64_t>(std::countr_zero(item->mask));
  const uint64_t end = item->address.value + static_cast<uint64_t>(std::bit_width(item->mask));
  std::vector<plan::Fill> fills = {{.byte = 0}, {.kind = plan::Fill::kNumber, .seed = 1}};
  if (item->is_number) fills.push_back({.kind = plan::Fill::kNumber, .seed = 1000});
  // A pointer that leads nowhere may be to blame. One that leads somewhere is not to blame for what stands there.
  if (item->mask == 0xff && !item->is_number && !report.FindMapping({NumberOf(item->bytes)}))
    fills.push_back({.kind = plan::Fill::kZeros});
  for (const plan::Fill& fill : SearchFills(seed)) fills.push_back(fill);
  fills.push_back({.byte = 0xff});
  const std::vector<Outcome> outcomes = trials->Run(Patch({{start, end}}), fills);
  if (outcomes.empty()) return;
  item->role = Role::kContext;
  const auto passes = std::ranges::find(outcomes, Outcome::kPasses);
  if (passes == outcomes.end()) return;
  item->role = Role::kCulprit;
  item->returns_with = FillText(fills[static_cast<size_t>(passes - outcomes.begin())]);
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
  const PartFinder finder(given);
  std::map<size_t, std::vector<WhatMatters>> items;  // by part
  for (const auto& [address, mask] : WordsOf(kept)) {
    const uint64_t first = address + static_cast<uint64_t>(std::countr_zero(mask));
    const size_t number = finder.PartAt(first);
    WhatMatters& item = items[number].emplace_back();
    item.address = {address};
    item.mask = mask;
    item.bytes = BytesOrZeros(frame, memory, address);
    minimised->bytes += static_cast<uint64_t>(std::popcount(mask));
    if (number == given.parts.size()) continue;
    const Part& part = given.parts[number];
    item.kind = part.kind;
    item.part_start = part.start;
    item.part_size = part.size;
    item.path = PlaceOf(part, first);
  }
  for (auto& [number, of_part] : items) std::ranges::move(of_part, std::back_inserter(minimised->items));
  minimised->parts = items.size();
}

bool IsBlock(PartKind kind) {
  return kind == PartKind::kBlock || kind == PartKind::kFreedBlock || kind == PartKind::kMappedBlock;
}

void NameItems(const TestReport& report, const GivenMemory& given, const ReplayFrame& frame, const StartMemory& memory,
               Minimised* minimised) {
  std::map<uint64_t, uint8_t> words;
  for (const WhatMatters& item : minimised->items) words[item.address.value] = item.mask;
  WordNames names(report, frame, memory);
  const PartFinder finder(given);
  names.Find(words, [&](uint64_t address) {
    const size_t number = finder.PartAt(address);
    const bool is_block = number < given.parts.size() && IsBlock(given.parts[number].kind);
    return is_block ? given.parts[number].start : 0;
  });
  for (WhatMatters& item : minimised->items) {
    const NamedWord& named = names.at(item.address.value);
    if (!named.path.empty()) item.path = named.path;
    item.is_number = named.is_number;
    item.value = named.path.empty() ? fmt::format("{:#x}", NumberOf(item.bytes)) : named.value;
  }
}

Patch AllOf(const GivenMemory& given) {
  std::vector<Patch> parts;
  for (const Part& part : given.parts) parts.push_back(part.bytes);
  return Combine(parts);
}

// What is not touched as it is may be touched when other memory is something else. So the result is checked with all
// memory filled, unless that is more than a replay can fill in a short time.
constexpr uint64_t kMostChecked = 64u << 20;

Patch MemoryToCheck(const GivenMemory& whole, const Patch& touched) {
  Patch all = AllOf(whole);
  const bool is_short = all.size() <= kMostChecked && all.ranges().size() < Experiments::kMostPieces / 2;
  return is_short ? all : touched;
}

}  // namespace

uint32_t FrameToMinimise(const TestReport& report) {
  const std::vector<ReplayFrame>& frames = report.replay.frames;
  const auto own = std::ranges::find_if(frames, [](const ReplayFrame& frame) {
    return !frame.file.empty() && !frame.file.starts_with("/usr/") && !frame.function.starts_with("std::");
  });
  return own != frames.end() ? own->index : frames.front().index;
}

Result<Minimised> Minimise(const TestReport& report, uint32_t index, const MinimiseOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<uint32_t> position = PositionOf(report, index);
  if (!position) return Error{Errc::kMissing, "frame " + std::to_string(index) + " cannot be replayed"};
  const ReplayFrame& frame = report.replay.frames[*position];
  const StartMemory memory(report, frame);
  const std::vector<TargetAddress> pages = PagesToWatch(report, memory);
  Result<std::vector<TargetAddress>> touched = TouchedBy(report, *position, options.verify, pages);
  if (!touched) return touched.error();
  const GivenMemory given = FindGivenMemory(report, frame, memory, *touched);
  const Patch all = MemoryToCheck(FindGivenMemory(report, frame, memory, pages), AllOf(given));
  Result<Trials> trials = Trials::Begin(report, options.verify, *position);
  if (!trials) return trials.error();

  Minimised minimised;
  minimised.frame = index;
  minimised.function = frame.function;
  minimised.given_parts = given.count;
  minimised.touched_parts = given.parts.size();
  if (trials->is_overflow())
    minimised.notes.push_back(
        "the stack overflowed: its depth is the cause, and the frames outside made that; what follows leads there");
  if (!trials->compares_addresses() && report.failure.signal == SIGSEGV)
    minimised.notes.push_back("the failing address differs from replay to replay, and is not compared");
  minimised.fixed_bytes = given.fixed;
  if (given.fixed > kMuchFixed)
    minimised.notes.push_back(fmt::format(
        "{} KiB of pages that the call touches are of no known kind, and stayed as they were", given.fixed >> 10));
  trials->StopAfter(options.seconds * kShareOfSearch);
  const auto is_pointer = [&](uint64_t address) {
    const uint64_t word = NumberOf(BytesOrZeros(frame, memory, address));
    return report.FindMapping({word}) != nullptr;
  };
  const Search search(given, options.seed, is_pointer, &*trials);
  if (trials->is_stopped()) minimised.limits = "the search was stopped when its time was up: less may be enough";
  if (trials->error()) return *trials->error();
  trials->StopAfter(options.seconds * (1 - kShareOfSearch));
  const std::vector<plan::Fill> held_out = HeldOutFills(options.seed);
  const std::vector<Outcome> agree = trials->Run(Without(all, Combine(search.kept())), held_out);
  minimised.fills = static_cast<uint32_t>(held_out.size());
  minimised.agreeing_fills = static_cast<uint32_t>(std::ranges::count(agree, Outcome::kSame));
  AddItems(given, frame, memory, search.kept(), &minimised);
  NameItems(report, given, frame, memory, &minimised);
  for (WhatMatters& item : minimised.items) FindRole(report, options.seed, &*trials, &item);
  if (trials->error()) return *trials->error();
  minimised.trials = trials->count();
  minimised.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return minimised;
}

}  // namespace recrash
