#include "testgen/explain/condense.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace recrash::explain {
namespace {

constexpr uint32_t kDeepest = 4;

// What says most comes first.
constexpr std::array kOrder = {LinkKind::kFailed,    LinkKind::kFreed,    LinkKind::kUninitialised, LinkKind::kInput,
                               LinkKind::kAllocated, LinkKind::kArgument, LinkKind::kReturned,      LinkKind::kConstant,
                               LinkKind::kBefore,    LinkKind::kLies,     LinkKind::kDecided,       LinkKind::kWritten,
                               LinkKind::kComputed,  LinkKind::kAddress,  LinkKind::kCalled,        LinkKind::kLost};

size_t Rank(const Link& link) { return static_cast<size_t>(std::ranges::find(kOrder, link.kind) - kOrder.begin()); }

bool IsToldForItself(LinkKind kind) { return kind == LinkKind::kBefore || kind == LinkKind::kFreed; }

bool IsSameLine(const Link& a, const Link& b) {
  return a.line == b.line && a.file == b.file && a.function == b.function && !IsToldForItself(a.kind) &&
         !IsToldForItself(b.kind);
}

using Links = std::span<const Link>;

// Links of the depth, and of those that stand behind them what lies deeper.
struct Row {
  std::vector<Link> links;
  std::vector<Link> deeper;
};

// The link that stands for a row of them.
Link OneOf(const Row& row) {
  Link link = *std::ranges::min_element(row.links, {}, Rank);
  const auto decides_here = [&](const Link& other) {
    return other.kind == LinkKind::kDecided && IsSameLine(other, link);
  };
  const auto lies = std::ranges::find(row.links, LinkKind::kLies, &Link::kind);
  if (lies != row.links.end() && link.kind != LinkKind::kLies) link.text += "; " + lies->text;
  const bool is_constant = link.kind == LinkKind::kConstant;
  if (is_constant && std::ranges::any_of(row.deeper, decides_here)) link.text += ", by a condition in this line";
  return link;
}

std::vector<Row> RowsOf(Links links, uint32_t depth) {
  std::vector<Row> rows;
  for (const Link& link : links) {
    if (link.depth > depth) {
      if (rows.empty()) rows.emplace_back();
      rows.back().deeper.push_back(link);
    } else if (!rows.empty() && !rows.back().links.empty() && IsSameLine(rows.back().links.back(), link)) {
      rows.back().links.push_back(link);
    } else {
      rows.push_back({{link}, {}});
    }
  }
  return rows;
}

class Condenser {
 public:
  void Add(Links links, uint32_t depth) {
    for (const Row& row : RowsOf(links, depth)) {
      if (!row.links.empty()) Tell(OneOf(row));
      if (depth < kDeepest) Add(row.deeper, depth + 1);
    }
  }
  std::vector<Link> condensed() && { return std::move(condensed_); }

 private:
  void Tell(Link link) {
    const bool is_before = link.kind == LinkKind::kBefore;
    // Of what decided, the beginning of the past says nothing.
    if (is_before ? link.depth > 0 : link.line == 0 && !condensed_.empty()) return;
    if (told_.insert({link.file, link.line, link.kind, link.text}).second) condensed_.push_back(std::move(link));
  }

  std::vector<Link> condensed_;
  std::set<std::tuple<std::string, uint32_t, LinkKind, std::string>> told_;
};

}  // namespace

std::vector<Link> Condense(const std::vector<Link>& links) {
  Condenser condenser;
  condenser.Add(links, 0);
  return std::move(condenser).condensed();
}

}  // namespace recrash::explain
