#include "testgen/minimise/reduce.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

namespace recrash {
namespace {

// Positions in a set.
struct Piece {
  size_t begin;
  size_t end;
};

// From the end, so that taking one away leaves the positions of those that come.
std::vector<Piece> PiecesOf(size_t count, size_t size) {
  std::vector<Piece> pieces;
  for (size_t end = count; end > 0; end -= std::min(size, end)) pieces.push_back({end - std::min(size, end), end});
  return pieces;
}

Subset Without(const Subset& set, const Piece& piece) {
  Subset rest(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(piece.begin));
  rest.insert(rest.end(), set.begin() + static_cast<std::ptrdiff_t>(piece.end), set.end());
  return rest;
}

class Sweep {
 public:
  Sweep(size_t width, const Suffice& suffice) : width_(std::max<size_t>(width, 1)), suffice_(suffice) {}

  // Takes away each piece of that size, at `from` or behind, without which the set suffices. Returns where the last of
  // them was; what comes before it was asked for with the set as it is now.
  std::optional<size_t> Run(size_t size, Subset* set, size_t from = 0) {
    std::vector<Piece> pieces = PiecesOf(set->size(), size);
    std::erase_if(pieces, [&](const Piece& piece) { return piece.begin < from; });
    taken_.reset();
    for (size_t next = 0; next < pieces.size() && !ended_;) next += Step(std::span(pieces).subspan(next), set);
    return taken_;
  }

 private:
  // Asks for the next pieces at once, as if each answer would be the last one again. Answers count up to the first that
  // is another one: those behind it are of sets that the sweep does not come to. Returns how many pieces are done.
  size_t Step(std::span<const Piece> pieces, Subset* set) {
    std::vector<Subset> sets;
    Subset base = *set;
    for (const Piece& piece : pieces.first(std::min(width_, pieces.size()))) {
      sets.push_back(Without(base, piece));
      if (last_) base = sets.back();
    }
    const std::vector<bool> answers = suffice_(sets);
    ended_ = answers.size() < sets.size();
    for (size_t i = 0; i < answers.size(); ++i) {
      const bool suffices = answers[i];
      if (suffices) *set = std::move(sets[i]);
      if (suffices) taken_ = pieces[i].begin;
      if (suffices == last_) continue;
      last_ = suffices;
      return i + 1;
    }
    return sets.size();
  }

  size_t width_;
  const Suffice& suffice_;
  bool last_ = true;
  std::optional<size_t> taken_;
  bool ended_ = false;
};

}  // namespace

Subset Reduce(size_t count, const ReduceOptions& options, const Suffice& suffice) {
  Subset set(count);
  std::iota(set.begin(), set.end(), 0);
  Sweep sweep(options.width, suffice);
  size_t size = options.first_piece ? options.first_piece : (count + 1) / 2;
  if (size < count && options.first_piece == 0) sweep.Run(count, &set);  // perhaps nothing matters
  for (; size > 1 && !set.empty(); size = (size + 1) / 2) sweep.Run(std::min(size, set.size()), &set);
  for (size_t from = 0; !set.empty();) {
    const std::optional<size_t> taken = sweep.Run(1, &set, from);
    if (!taken) break;
    from = from == 0 ? *taken : 0;
  }
  return set;
}

}  // namespace recrash
