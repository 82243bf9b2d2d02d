#include "agent/report/word_packing.h"

#include <algorithm>
#include <cstring>

#include "agent/base/signal_safe/pages.h"

namespace recrash {
namespace {

using format::WordClass;

constexpr size_t kWord = sizeof(uint64_t);
constexpr uint64_t kUpperHalf = 0xffffffff00000000;

// The size of each class's argument; the class is also the number of the arguments' stream.
constexpr std::array<uint8_t, format::kArgumentStreams> kArgumentSize = {0, 2, 4, 1, 2, 4, 8, 4};

constexpr bool IsRecent(uint8_t code) { return code >= format::kFirstRecent; }
constexpr size_t StreamOf(uint8_t code) {
  if (IsRecent(code)) return static_cast<size_t>(WordClass::kZero);  // no argument either
  return std::min<size_t>(code, static_cast<size_t>(WordClass::kDifference));
}

// Fibonacci hashing: its upper bits depend on all of the word.
size_t PairOf(uint64_t word) { return ((word * 0x9e3779b97f4a7c15) >> 40) % (format::kRecentWords / 2); }
size_t UpperSlot(uint64_t word) { return (word >> 32) % format::kUpperHalves; }

void Append(uint64_t value, WordClass word_class, std::vector<uint8_t>* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out->insert(out->end(), bytes, bytes + kArgumentSize[static_cast<size_t>(word_class)]);
}

// A word that is not among those seen lately takes the older place of its pair.
uint64_t Remembered(uint64_t word, WordHistory* history) {
  const size_t pair = PairOf(word);
  const bool second = history->second_is_newer[pair] = !history->second_is_newer[pair];
  return history->recent[2 * pair + second] = word;
}

uint64_t Seen(size_t place, WordHistory* history) {
  history->second_is_newer[place / 2] = place % 2 != 0;
  return history->recent[place];
}

// `value` is the argument, `at` the word's own address, `below` the word under it.
uint64_t UnpackWord(uint8_t code, uint64_t value, uint64_t at, uint64_t below, WordHistory* history) {
  if (IsRecent(code)) return Seen(code - format::kFirstRecent, history);
  switch (static_cast<WordClass>(StreamOf(code))) {
    case WordClass::kZero:
      return below;
    case WordClass::kByte:
      return value;
    case WordClass::kNear:
      return at + static_cast<uint64_t>(static_cast<int16_t>(value)) * kWord;
    case WordClass::kFar:
      return Remembered(at + static_cast<uint64_t>(static_cast<int32_t>(value)), history);
    case WordClass::kHalf:
      return history->half = static_cast<uint16_t>(history->half + value);
    case WordClass::kFour:
      return Remembered(value, history);
    case WordClass::kLiteral:
      return history->by_upper_half[UpperSlot(value)] = Remembered(value, history);
    case WordClass::kDifference:
      break;
  }
  uint64_t& last = history->by_upper_half[code - static_cast<uint8_t>(WordClass::kDifference)];
  last = (last & kUpperHalf) | static_cast<uint32_t>(last + value);
  return Remembered(last, history);
}

}  // namespace

uint64_t WordsBelow::At(uint64_t address) {
  using signal_safe::kPage;
  if (pages_ == nullptr || address % kPage > kPage - kWord) return 0;
  const uint64_t page = address / kPage * kPage;
  if (page != page_) {
    const auto found = pages_->find(page);
    bytes_ = found == pages_->end() ? nullptr : found->second;
    page_ = page;
  }
  uint64_t word = 0;
  if (bytes_ != nullptr) std::memcpy(&word, bytes_ + address % kPage, kWord);
  return word;
}

void WordPacker::PackWord(uint64_t word, uint64_t distance, bool in_run, uint64_t below,
                          std::vector<uint8_t>* classes) {
  const auto add = [&](WordClass word_class, uint64_t argument, uint8_t slot = 0) {
    classes->push_back(static_cast<uint8_t>(word_class) + slot);
    Append(argument, word_class, &arguments_[static_cast<size_t>(word_class)]);
  };
  const auto away = static_cast<int64_t>(distance);
  if (word == below) return add(WordClass::kZero, 0);
  if (in_run && away % 8 == 0 && away / 8 == static_cast<int16_t>(away / 8))
    return add(WordClass::kNear, static_cast<uint64_t>(away / 8));
  if (word <= UINT8_MAX) return add(WordClass::kByte, word);
  if (word <= UINT16_MAX) {
    add(WordClass::kHalf, static_cast<uint16_t>(word - history_.half));
    history_.half = static_cast<uint16_t>(word);
    return;
  }
  for (const size_t place : {2 * PairOf(word), 2 * PairOf(word) + 1})
    if (history_.recent[place] == word) {
      Seen(place, &history_);
      return classes->push_back(static_cast<uint8_t>(format::kFirstRecent + place));
    }
  Remembered(word, &history_);
  // After the words seen lately: each frame of a deep recursion has pointers to the same few objects of outer frames.
  if (in_run && away == static_cast<int32_t>(away)) return add(WordClass::kFar, distance);
  const uint64_t last = history_.by_upper_half[UpperSlot(word)];
  if (word <= UINT32_MAX)
    add(WordClass::kFour, word);
  else if (word >> 32 == last >> 32)
    add(WordClass::kDifference, static_cast<uint32_t>(word - last), static_cast<uint8_t>(UpperSlot(word)));
  else
    add(WordClass::kLiteral, word);
  if (word > UINT32_MAX) history_.by_upper_half[UpperSlot(word)] = word;
}

void WordPacker::Pack(const format::Run& run, uint64_t offset, std::span<const uint8_t> bytes,
                      std::vector<uint8_t>* out) {
  for (std::vector<uint8_t>& stream : arguments_) stream.clear();
  const size_t whole = bytes.size() / kWord * kWord;
  WordsBelow below(below_);
  for (size_t i = 0; i < whole; i += kWord) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, kWord);
    const uint64_t at = run.address + offset + i;
    PackWord(word, word - at, word - run.address < run.length, below.At(at), out);
  }
  for (const std::vector<uint8_t>& stream : arguments_) out->insert(out->end(), stream.begin(), stream.end());
  out->insert(out->end(), bytes.begin() + static_cast<ptrdiff_t>(whole), bytes.end());
}

Status WordUnpacker::Unpack(SectionReader* reader, const format::Run& run, uint64_t offset, size_t size,
                            std::vector<uint8_t>* out) {
  classes_.clear();
  arguments_.clear();
  if (Status status = reader->Append(size / kWord, &classes_); !status) return status;
  std::array<size_t, format::kArgumentStreams> stream{};
  for (const uint8_t code : classes_) stream[StreamOf(code)] += kArgumentSize[StreamOf(code)];
  size_t end = 0;  // each stream's length becomes its beginning
  for (size_t& position : stream) end += std::exchange(position, end);
  if (Status status = reader->Append(end, &arguments_); !status) return status;
  WordsBelow below(below_);
  for (size_t i = 0; i < classes_.size(); ++i) {
    const size_t number = StreamOf(classes_[i]);
    uint64_t value = 0;
    // Not memcpy: where no class of the piece has an argument, there may be no array.
    std::copy_n(arguments_.data() + stream[number], kArgumentSize[number], reinterpret_cast<uint8_t*>(&value));
    stream[number] += kArgumentSize[number];
    const uint64_t at = run.address + offset + i * kWord;
    const uint64_t word = UnpackWord(classes_[i], value, at, below.At(at), &history_);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
    out->insert(out->end(), bytes, bytes + kWord);
  }
  return reader->Append(size % kWord, out);
}

}  // namespace recrash
