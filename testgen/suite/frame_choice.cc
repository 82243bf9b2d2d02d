#include "testgen/suite/frame_choice.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "agent/base/printable_text.h"

namespace recrash {
namespace {

constexpr uint64_t kWord = 8;

struct Numbers {
  uint32_t first = 0;
  std::optional<uint32_t> last;  // none: all outside
};

// Takes a number off the text.
std::optional<uint32_t> TakeNumber(std::string_view* text) {
  uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (problem != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

std::optional<Numbers> ParseNumbers(std::string_view text) {
  const std::optional<uint32_t> first = TakeNumber(&text);
  if (!first) return std::nullopt;
  if (text.empty()) return Numbers{*first, first};
  if (text[0] != '-') return std::nullopt;
  text.remove_prefix(1);
  if (text.empty()) return Numbers{*first, std::nullopt};
  const std::optional<uint32_t> last = TakeNumber(&text);
  if (!last || !text.empty() || *last < *first) return std::nullopt;
  return Numbers{*first, last};
}

// Of an inlined frame, entry_sp is that of a call which never was.
bool HasPlace(const Frame& frame) { return !frame.inlined && frame.entry_sp.value != 0; }

// The frame that has a place on the stack: itself, or the one that it was inlined into.
const Frame* FindPlaced(const Backtrace& backtrace, uint32_t index) {
  const auto found = std::ranges::find(backtrace.frames, index, &Frame::index);
  const auto placed = std::find_if(found, backtrace.frames.end(), HasPlace);
  return placed == backtrace.frames.end() ? nullptr : &*placed;
}

// Where the frame's own stack begins: behind the return address of the call that it had made. Null: the innermost.
const Frame* FrameInside(const Backtrace& backtrace, const Frame& frame) {
  const Frame* inside = nullptr;
  for (const Frame& other : backtrace.frames)
    if (HasPlace(other) && other.index < frame.index) inside = &other;
  return inside;
}

// Behind the return address, and behind arguments that lie there.
TargetAddress EndOf(const Frame& frame) {
  TargetAddress end = frame.entry_sp + kWord;
  for (const ReplayWord& word : frame.words)
    if (word.location == abi::Location::kStack)
      end = std::max(end, frame.entry_sp + kWord + word.stack_offset + (word.size + kWord - 1) / kWord * kWord);
  return end;
}

std::optional<StackPart> PartOf(const Numbers& numbers, const Report& report, const Backtrace& backtrace) {
  const Frame* first = FindPlaced(backtrace, numbers.first);
  const Frame* last = numbers.last ? FindPlaced(backtrace, *numbers.last) : nullptr;
  const Mapping* stack = first ? report.FindMapping(first->entry_sp) : nullptr;
  if (!stack || (numbers.last && !last)) return std::nullopt;
  StackPart part;
  const Frame* inside = FrameInside(backtrace, *first);
  part.has_innermost = inside == nullptr;
  part.low = inside ? inside->entry_sp + kWord : stack->start;
  for (const Frame& frame : backtrace.frames)
    if (!numbers.last && HasPlace(frame)) last = &frame;
  part.high = EndOf(*last);
  part.has_outermost = !numbers.last;
  // The stack of another thread has the thread's control block above its frames.
  if (part.has_outermost && stack->path == "[stack]") part.high = stack->end;
  return part;
}

}  // namespace

Result<std::vector<StackPart>> ChooseStack(const std::string& choice, const Report& report,
                                           const Backtrace& backtrace) {
  std::vector<StackPart> parts;
  std::string_view rest = choice;
  for (bool more = true; more;) {
    const size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    more = comma != rest.npos;
    if (more) rest.remove_prefix(comma + 1);
    const std::optional<Numbers> numbers = ParseNumbers(one);
    if (!numbers)
      return Error{Errc::kUsage, PrintableText(std::string(one)) + ": needed numbers of frames, as in 2, 0-3 or 5-"};
    const std::optional<StackPart> part = PartOf(*numbers, report, backtrace);
    if (!part) return Error{Errc::kUsage, PrintableText(std::string(one)) + ": the stack has no such frame"};
    parts.push_back(*part);
  }
  return parts;
}

}  // namespace recrash
