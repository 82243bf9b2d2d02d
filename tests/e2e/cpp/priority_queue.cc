// std::priority_queue: the first of an empty one.
//
// frames: Nearest Route main
#include <cstdio>
#include <queue>
#include <utility>
#include <vector>

using Stops = std::priority_queue<std::pair<int, int>>;

__attribute__((noinline)) int Nearest(const Stops& stops) { return stops.top().first; }  // split

__attribute__((noinline)) int Route(Stops& stops, int wanted) {
  int length = 0;
  for (int i = 0; i < wanted; ++i) {
#ifdef FIXED
    if (stops.empty()) break;
#endif
    length += Nearest(stops);
    if (!stops.empty()) stops.pop();
    if (stops.empty()) stops = Stops();
  }
  return length;
}

int main() {
  Stops stops;
  for (int i = 0; i < 3; ++i) stops.push({i, i * i});
  std::printf("%d\n", Route(stops, 5));
}
