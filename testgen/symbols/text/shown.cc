#include "testgen/symbols/text/shown.h"

#include <algorithm>
#include <string_view>

namespace recrash {
namespace {

constexpr std::string_view kCut = "…";

// "&{" but "Point {".
std::string Opening(const Shown& shown) {
  return shown.text + (shown.text.empty() || shown.text.ends_with('&') ? "{" : " {");
}

int Levels(const Shown& shown) {
  int levels = 0;
  for (const ShownMember& member : shown.members) levels = std::max(levels, Levels(member.value));
  return levels + (shown.has_members ? 1 : 0);
}

// The members of the first `levels` levels; what lies deeper is "{…}".
std::string Joined(const Shown& shown, int levels) {
  if (!shown.has_members) return shown.text;
  std::string text = Opening(shown);
  if (levels == 0 && !shown.members.empty()) return text.append(kCut) + "}";
  for (const ShownMember& member : shown.members)
    text += (&member == shown.members.data() ? "" : ", ") + member.label + Joined(member.value, levels - 1);
  if (shown.is_cut) text += std::string(shown.members.empty() ? "" : ", ") + std::string(kCut);
  return text + "}";
}

// Not within a character.
std::string Shortened(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end).append(kCut);
}

bool IsPlain(const Shown& shown) {
  return std::ranges::all_of(shown.members,
                             [](const ShownMember& m) { return m.label.empty() && !m.value.has_members; });
}

class Layout {
 public:
  explicit Layout(size_t width) : width_(width) {}

  void Add(const std::string& indent, const std::string& label, const Shown& shown, int levels,
           const std::string& after) {
    const std::string whole = indent + label + Joined(shown, levels) + after;
    if (whole.size() <= width_ || !shown.has_members || shown.members.empty() || levels <= 0) {
      lines.push_back(whole);
      return;
    }
    lines.push_back(indent + label + Opening(shown));
    if (IsPlain(shown))
      Fill(indent + "  ", shown);
    else
      for (const ShownMember& member : shown.members)
        Add(indent + "  ", member.label, member.value, levels - 1, IsLast(shown, member) ? "" : ",");
    if (shown.is_cut && !IsPlain(shown)) lines.push_back(indent + "  " + std::string(kCut));
    lines.push_back(indent + "}" + after);
  }

  std::vector<std::string> lines;

 private:
  static bool IsLast(const Shown& shown, const ShownMember& member) {
    return &member == &shown.members.back() && !shown.is_cut;
  }

  // As many to a line as there is room for.
  void Fill(const std::string& indent, const Shown& shown) {
    std::string line = indent;
    for (const ShownMember& member : shown.members) {
      const std::string text = member.value.text + (IsLast(shown, member) ? "" : ",");
      if (line.size() > indent.size() && line.size() + 1 + text.size() > width_) {
        lines.push_back(line);
        line = indent;
      }
      line += (line.size() > indent.size() ? " " : "") + text;
    }
    lines.push_back(line + (shown.is_cut ? " " + std::string(kCut) : ""));
  }

  size_t width_;
};

}  // namespace

std::string OneLine(const Shown& shown, size_t limit) {
  for (int levels = Levels(shown); levels > 0; --levels)
    if (std::string text = Joined(shown, levels); text.size() <= limit) return text;
  if (!shown.has_members) return Shortened(shown.text, limit);
  std::string text = Opening(shown);
  for (const ShownMember& member : shown.members) {
    const std::string next = (&member == shown.members.data() ? "" : ", ") + member.label + Joined(member.value, 0);
    if (text.size() + next.size() + 6 > limit) {
      text += (&member == shown.members.data() ? "" : ", ") + std::string(kCut);
      return Shortened(text + "}", limit);
    }
    text += next;
  }
  return Shortened(text + (shown.is_cut ? ", …}" : "}"), limit);
}

std::vector<std::string> SeveralLines(const Shown& shown, size_t width, size_t most) {
  std::vector<std::string> lines;
  for (int levels = std::max(Levels(shown), 1); levels > 0; --levels) {
    Layout layout(width);
    layout.Add("", "", shown, levels, "");
    lines = std::move(layout.lines);
    if (lines.size() <= most) return lines;
  }
  lines.resize(most - 2);
  lines.push_back("  " + std::string(kCut));
  lines.push_back("}");
  return lines;
}

}  // namespace recrash
