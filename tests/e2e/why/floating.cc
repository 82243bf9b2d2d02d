// A length that is not positive is passed on as a floating-point number.
#undef NDEBUG
#include <cassert>
#include <cmath>
#include <cstdio>

struct Box {
  double low;
  double high;
};

__attribute__((noinline)) double Length(const Box& box) {
  return box.high - box.low;  // cause
}

__attribute__((noinline)) double Scale(int steps, double length) {
  assert(length > 0);
  return std::log(length) / steps;
}

int main() {
  const Box boxes[] = {{1, 4}, {2, 2}};
  double sum = 0;
  for (const Box& box : boxes) sum += Scale(10, Length(box));
  std::printf("%g\n", sum);
}
