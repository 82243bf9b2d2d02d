#include "integrations/pages/value_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "integrations/pages/markup.h"

namespace recrash::pages {
namespace {

using explain::Link;
using explain::LinkKind;

constexpr size_t kMostBoxes = 40;
constexpr size_t kMostRows = 4;         // of one box
constexpr size_t kCharactersARow = 38;  // 12 px high, some 7.2 wide
constexpr int kWidth = 300;
constexpr int kRowHeight = 17;
constexpr int kPadding = 9;
constexpr int kArrow = 38;

// Links in a row of one function.
struct Box {
  std::string function;
  std::vector<size_t> links;
  int height() const { return 2 * kPadding + kRowHeight * static_cast<int>(1 + std::min(links.size(), kMostRows)); }
};

// Others tell what led there, and not where the value was.
bool HasValue(const Link& link) {
  constexpr LinkKind kOthers[] = {LinkKind::kCalled, LinkKind::kFreed, LinkKind::kDecided, LinkKind::kLost};
  return link.depth == 0 && !link.function.empty() && std::ranges::find(kOthers, link.kind) == std::end(kOthers);
}

std::vector<Box> BoxesOf(const std::vector<Link>& links) {
  std::vector<Box> boxes;
  for (size_t i = 0; i < links.size(); ++i) {
    if (!HasValue(links[i])) continue;
    if (boxes.empty() || boxes.back().function != links[i].function) boxes.push_back({links[i].function, {}});
    boxes.back().links.push_back(i);
  }
  return boxes;
}

// How the value came from the lower box to the upper one.
std::string Handed(const Link& upper, const Link& lower) {
  if (upper.kind == LinkKind::kReturned) return "returned";
  if (lower.kind == LinkKind::kArgument) return "as an argument";
  if (lower.kind == LinkKind::kWritten) return "written";
  return "";
}

std::string Text(const char* kind, int y, const std::string& text) {
  return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", kind, kPadding + 1, y,
                     Escaped(Shortened(text, kCharactersARow)));
}

std::string BoxText(const Box& box, const std::vector<Link>& links, int top) {
  const bool is_failed = links[box.links.front()].kind == LinkKind::kFailed;
  std::string svg =
      fmt::format("<a href=\"#s{}\"{}>\n<rect x=\"2\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\"/>\n",
                  box.links.front() + 1, is_failed ? " class=\"failed\"" : "", top, kWidth - 4, box.height());
  int y = top + kPadding + 12;
  svg += Text("name", y, box.function);
  for (size_t i = 0; i < std::min(box.links.size(), kMostRows); ++i) {
    y += kRowHeight;
    const size_t link = box.links[i];
    const bool is_last = i + 1 == kMostRows && box.links.size() > kMostRows;
    svg += Text("dim", y, is_last ? "and more" : fmt::format("{}. {}", link + 1, links[link].text));
  }
  return svg + "</a>\n";
}

// It points up, as the value went.
std::string ArrowText(const std::string& label, int top) {
  const int x = kWidth / 2;
  std::string svg = fmt::format("<path d=\"M{} {}V{}\"/>\n<path class=\"head\" d=\"M{} {}l-5 9h10z\"/>\n", x,
                                top + kArrow - 3, top + 10, x, top + 3);
  if (!label.empty())
    svg += fmt::format("<text class=\"dim\" x=\"{}\" y=\"{}\">{}</text>\n", x + 12, top + kArrow / 2 + 4, label);
  return svg;
}

}  // namespace

std::string ValueGraph(const explain::Explanation& explanation) {
  const std::vector<Link>& links = explanation.links;
  std::vector<Box> boxes = BoxesOf(links);
  if (boxes.size() < 2) return "";
  const size_t left_out = boxes.size() > kMostBoxes ? boxes.size() - kMostBoxes : 0;
  boxes.resize(boxes.size() - left_out);
  std::string svg;
  int y = 2;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (i > 0) {
      svg += ArrowText(Handed(links[boxes[i - 1].links.back()], links[boxes[i].links.front()]), y);
      y += kArrow;
    }
    svg += BoxText(boxes[i], links, y);
    y += boxes[i].height();
  }
  if (left_out > 0) {
    y += kRowHeight;
    svg += Text("dim", y, fmt::format("and {} more functions", left_out));
    y += kPadding;
  }
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"group\" aria-label=\"the way of the value\">\n{}</svg>\n",
                     kWidth, y + 2, svg);
}

}  // namespace recrash::pages
