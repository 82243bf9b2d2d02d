#include "testgen/symbols/text/render.h"

#include <algorithm>

namespace recrash {
namespace {

constexpr size_t kMaxLine = 120;
constexpr size_t kWidth = 112;  // of one line of several: a comment's mark and indent stand before it
constexpr size_t kMaxLines = 40;
constexpr int kMaxLevels = 6;
constexpr size_t kMaxValues = 250;

}  // namespace

RenderedValue Renderer::Deepest(DebugInfo& debug, const std::function<Shown(ValueBuilder&)>& build) {
  Shown shown;
  RenderedValue rendered;
  for (int levels = 1; levels <= kMaxLevels; ++levels) {
    ValueBuilder builder({memory_, modules_, addresses_, debug, entry_sp_}, levels);
    Shown deeper = build(builder);
    if (levels > 1 && builder.count() > kMaxValues) break;
    shown = std::move(deeper);
    rendered.reaches_dead_stack = builder.reaches_dead_stack();
    for (const HeldMutex& held : builder.held_mutexes())
      if (std::ranges::find(held_, held) == held_.end()) held_.push_back(held);
    if (!builder.left_out()) break;
  }
  rendered.line = OneLine(shown, kMaxLine);
  rendered.lines = SeveralLines(shown, kWidth, kMaxLines);
  if (rendered.lines.size() == 1) {
    rendered.line = std::move(rendered.lines[0]);
    rendered.lines.clear();
  }
  return rendered;
}

RenderedValue Renderer::Parameter(DebugInfo& debug, Dwarf_Die type, std::span<const uint8_t> bytes) {
  return Deepest(debug, [&](ValueBuilder& builder) { return builder.Value({type, bytes, {}}, {}); });
}

RenderedValue Renderer::ObjectAt(DebugInfo& debug, Dwarf_Die type, TargetAddress address) {
  return Deepest(debug, [&](ValueBuilder& builder) { return builder.At(type, address, {}); });
}

}  // namespace recrash
