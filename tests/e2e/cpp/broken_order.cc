// std::sort with an order that says yes to equal ones runs out of the array.
//
// frames: Rank main
#include <algorithm>
#include <cstdio>
#include <vector>

struct Score {
  const int* points;
  int player;
};

__attribute__((noinline)) int Rank(std::vector<Score>& scores) {
#ifdef FIXED
  std::sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) { return *a.points > *b.points; });
#else
  std::sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) { return *a.points >= *b.points; });
#endif
  return scores.front().player;
}

int main() {
  static const int same = 10;
  std::vector<Score> scores(400);
  for (int i = 0; i < 400; ++i) scores[i] = {&same, i};
  std::printf("%d\n", Rank(scores) >= 0);
}
