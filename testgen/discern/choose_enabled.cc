#include "testgen/discern/choose_enabled.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace recrash {
namespace {

// No call of the program's own is left between the frame and the failure.
bool IsAtTheEndOfLibraryCode(std::span<const FrameFacts> frames, const FrameFacts& frame) {
  return std::ranges::none_of(frames,
                              [&](const FrameFacts& other) { return other.index <= frame.index && other.is_users; });
}

// The innermost function of the program's own that could have gone on.
const FrameFacts* FailingFunction(std::span<const FrameFacts> frames) {
  const auto found =
      std::ranges::find_if(frames, [](const FrameFacts& frame) { return frame.is_users && frame.returns; });
  return found == frames.end() ? nullptr : &*found;
}

std::string DoubtOf(std::span<const FrameFacts> frames, std::span<const AlreadyThere> already_there,
                    const FrameFacts& frame) {
  if (IsAtTheEndOfLibraryCode(frames, frame))
    return "only functions of the C++ library are on the stack from here to the failure";
  if (!frame.returns) return "the function never returns";
  if (frame.is_called_oddly)
    return "the compiler has changed how the function is called; other builds may call it otherwise";
  if (frame.stack_left)
    return fmt::format(
        "it is called with the {} bytes of stack that were left; whatever else the function does then "
        "may need more",
        *frame.stack_left);
  // Of the frames that began with it the outermost one: what it began with was there for all inside of it, too.
  const AlreadyThere* began = nullptr;
  for (const AlreadyThere& one : already_there)
    if (one.outer >= frame.index && (!began || one.outer > began->outer)) began = &one;
  if (began && began->outer == frame.index)
    return fmt::format("frame {} fails in the same way when it is called before this one has done anything",
                       began->inner);
  if (began)
    return fmt::format("frame {} fails in the same way when it is called before frame {} has done anything",
                       began->inner, began->outer);
  if (frame.holds_bad_value) return "an argument is the bad address itself";
  if (&frame == FailingFunction(frames))
    return "the function that failed is given what it fails on; tests further out make that as well";
  return "";
}

// Other builds have other parts of a template inlined, and nobody fixes a bug there.
void DoubtLibraryCode(std::span<const FrameFacts> frames, std::vector<ChosenTest>* tests) {
  const auto is_users = [&](uint32_t index) { return std::ranges::find(frames, index, &FrameFacts::index)->is_users; };
  for (ChosenTest& test : *tests) {
    const bool is_in_another = std::ranges::any_of(*tests, [&](const ChosenTest& other) {
      return other.frame > test.frame && other.doubt.empty() && is_users(other.frame);
    });
    if (test.doubt.empty() && is_in_another && !is_users(test.frame))
      test.doubt = "it is a function of the C++ library; tests further out run it too";
  }
}

}  // namespace

std::optional<uint64_t> StackLeft(const Report& report, TargetAddress entry_sp) {
  constexpr uint64_t kGuard = 1ull << 20, kLittle = 32ull << 10;
  const Mapping* stack = report.FindMapping(entry_sp);
  if (!stack || report.failure.signal != SIGSEGV) return std::nullopt;
  const bool overflowed =
      stack->start.value - report.failure.address.value <= kGuard && report.failure.address < stack->start;
  const uint64_t left = entry_sp - stack->start;
  return overflowed && left < kLittle ? std::optional(left) : std::nullopt;
}

std::vector<ChosenTest> ChooseEnabled(std::span<const FrameFacts> frames, std::span<const AlreadyThere> already_there) {
  std::vector<ChosenTest> tests;
  for (const FrameFacts& frame : frames)
    if (frame.has_test) tests.push_back({frame.index, true, DoubtOf(frames, already_there, frame)});
  DoubtLibraryCode(frames, &tests);
  for (ChosenTest& test : tests) test.enabled = test.doubt.empty();
  if (!tests.empty() && std::ranges::none_of(tests, &ChosenTest::enabled)) tests.back().enabled = true;
  // Enabled ones first, outermost first; then the others, innermost first.
  std::ranges::sort(tests, [](const ChosenTest& a, const ChosenTest& b) {
    if (a.enabled != b.enabled) return a.enabled;
    return a.enabled ? a.frame > b.frame : a.frame < b.frame;
  });
  return tests;
}

}  // namespace recrash
