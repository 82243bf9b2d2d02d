// References to locals of the caller: one of them is an index that is negative by now.
//
// frames: Step Walk main
#include <cstdio>
#include <vector>

__attribute__((noinline)) void Step(const std::vector<long>& jumps, long& position, long& sum, int& steps) {
  sum += jumps[position];  // split
  position -= jumps[position];
  ++steps;
}

__attribute__((noinline)) long Walk(const std::vector<long>& jumps, int limit) {
  long position = static_cast<long>(jumps.size()) - 1, sum = 0;
  int steps = 0;
#ifdef FIXED
  while (steps < limit && position >= 0) Step(jumps, position, sum, steps);
#else
  while (steps < limit) Step(jumps, position, sum, steps);
#endif
  return sum;
}

int main() { std::printf("%ld\n", Walk({3, 1L << 40, 2, 1, 3}, 100)); }
