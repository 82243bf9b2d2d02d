#include "testgen/emit/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "testgen/emit/failure_text.h"

namespace recrash {
namespace {

// The next frame inwards of the user's code: what `frame` called.
const Frame* CalledFrame(const Backtrace& backtrace, const Frame& frame) {
  const Frame* called = nullptr;
  for (const Frame& other : backtrace.frames) {
    if (other.index >= frame.index) break;
    if (IsUsersCode(other)) called = &other;
  }
  return called;
}

std::string NameOf(const Parameter& parameter) {
  return parameter.name.empty() ? fmt::format("argument {}", parameter.number) : fmt::format("`{}`", parameter.name);
}

// Only addresses: that two integers are both 1 says nothing.
std::string HandedOn(const Frame& frame, const Frame& called) {
  for (const Parameter& inner : called.parameters) {
    if (!inner.complete || inner.is_receiver || !inner.type.is_address() || inner.bytes.empty()) continue;
    for (const Parameter& outer : frame.parameters) {
      if (!outer.complete || outer.is_receiver || outer.bytes != inner.bytes || !outer.type.is_address()) continue;
      const std::string as = outer.name == inner.name ? "" : fmt::format(" as {}", NameOf(inner));
      return fmt::format("Hands {} on to frame {}{}: a fix here or there shows in this test.", NameOf(outer),
                         called.index, as);
    }
  }
  return "";
}

// After a stack overflow: what was left of the stack when the frame was entered, where that is next to nothing. What a
// function does in place of going deeper needs stack as well: of swig, which prints an error then, frames that had 1
// KiB left overflow again after the fix, and those of the recursion's other end do not. printf alone may take 10 KiB.
std::optional<uint64_t> StackLeft(const Report& report, const Frame& frame) {
  constexpr uint64_t kGuard = 1ull << 20, kLittle = 32ull << 10;
  const Mapping* stack = report.FindMapping(frame.entry_sp);
  if (!stack || report.failure.signal != SIGSEGV) return std::nullopt;
  const bool overflowed =
      stack->start.value - report.failure.address.value <= kGuard && report.failure.address < stack->start;
  const uint64_t left = frame.entry_sp - stack->start;
  return overflowed && left < kLittle ? std::optional(left) : std::nullopt;
}

}  // namespace

std::vector<std::string> WhyUseful(const Report& report, const Backtrace& backtrace, const Frame& frame) {
  std::vector<std::string> why;
  if (const auto left = StackLeft(report, frame)) {
    why.push_back(fmt::format(
        "Is called with the {} bytes of stack that were left: this test can only pass if the function needs "
        "no more; a fix that ends the recursion sooner shows in tests further out.",
        *left));
  }
  const Frame* called = CalledFrame(backtrace, frame);
  const std::string handed_on = called ? HandedOn(frame, *called) : "";
  if (frame.holds_bad_value) {
    why.push_back(
        "An argument is the bad value itself: this test can only pass if the function itself tolerates it; a fix of "
        "its callers shows in their tests.");
    if (!handed_on.empty()) why.push_back(handed_on);
  } else if (!called) {
    why.push_back("The function that failed: what it was given and what it made of it are both here.");
  } else if (called->holds_bad_value) {
    why.push_back(
        fmt::format("The bad value of frame {} is made or picked up here: a fix that keeps it away shows "
                    "in this test first.",
                    called->index));
  } else if (!handed_on.empty()) {
    why.push_back(handed_on);
  } else if (called->inlined) {
    why.push_back(fmt::format("Frame {} is inlined here: what failed is in this function's own code.", called->index));
  } else if (!frame.function.empty() && frame.linkage_name == called->linkage_name) {
    why.push_back(fmt::format("The same function as frame {}, one recursion further out.", called->index));
  } else {
    why.push_back(fmt::format("Calls frame {}: it fails when that one does, and shows what led there.", called->index));
  }
  const bool from_dwarf =
      std::ranges::any_of(frame.words, [](const ReplayWord& word) { return word.source == ValueSource::kDwarf; });
  if (from_dwarf) why.push_back("Its arguments come from debug information: they may have changed since entry.");
  return why;
}

}  // namespace recrash
