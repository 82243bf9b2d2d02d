// std::span: a part that begins far behind the end.
//
// frames: Peak Scan main
#include <cstdio>
#include <span>
#include <vector>

__attribute__((noinline)) int Peak(std::span<const int> part) {
  int peak = 0;
  for (int sample : part) peak = sample > peak ? sample : peak;  // split
  return peak;
}

__attribute__((noinline)) int Scan(const std::vector<int>& samples, size_t width, size_t distance) {
  int sum = 0;
  std::span<const int> all(samples);
  for (size_t at = 0; at < 2 * distance; at += distance) {
#ifdef FIXED
    if (at + width > all.size()) break;
#endif
    sum += Peak(std::span(all.data() + at, width));
  }
  return sum;
}

int main(int argc, char**) { std::printf("%d\n", Scan(std::vector<int>(100, argc), 10, 1u << 28)); }
