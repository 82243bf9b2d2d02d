// Structures by value: small ones in registers, large ones in memory, one of them returned.
//
// frames: Mean Blend main
#include <cassert>
#include <cstdio>

struct Point {
  double x, y;
};
struct Range {
  int first, last;
};
struct Samples {
  double values[12];
  int count;
};

__attribute__((noinline)) Point Mean(Samples samples, Range range, Point origin) {
  assert(range.first < range.last && range.last <= samples.count);  // split
  Point mean = origin;
  for (int i = range.first; i < range.last; ++i) mean.x += samples.values[i];
  mean.x /= range.last - range.first;
  return mean;
}

// part
__attribute__((noinline)) double Blend(Samples samples, int width) {
  double sum = 0;
#ifdef FIXED
  for (int i = 0; i + width <= samples.count; i += width) sum += Mean(samples, {i, i + width}, {0.5, 0.25}).x;
#else
  for (int i = 0; i < samples.count; i += width) sum += Mean(samples, {i, i + width}, {0.5, 0.25}).x;
#endif
  return sum;
}
// end part

int main() {
  Samples samples = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10};
  std::printf("%.2f\n", Blend(samples, 4));
}
