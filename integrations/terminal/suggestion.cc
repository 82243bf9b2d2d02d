#include "integrations/terminal/suggestion.h"

#include <algorithm>

namespace recrash::cli {
namespace {

// Optimal string alignment: the edit distance in which two swapped letters are one error.
size_t TypingErrors(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr size_t kLongestWord = 64;  // of ours; what is longer is none of them
  if (word.size() > kLongestWord) return "";
  std::string nearest;
  size_t least = (word.size() + 1) / 3 + 1;  // more than may be
  for (const std::string& candidate : known) {
    const size_t errors = TypingErrors(word, candidate);
    if (errors > least) continue;
    nearest = errors < least ? candidate : "";
    least = errors;
  }
  return nearest;
}

}  // namespace recrash::cli
