// Overloads that differ by a type only: the wrong one divides by zero.
//
// frames: Scale Scale Draw main
#include <cstdio>

struct Size {
  int width, height;
};

__attribute__((noinline)) int Scale(int value, int by) {
#ifdef FIXED
  if (by == 0) return value;
#endif
  return value / by;  // split
}
__attribute__((noinline)) double Scale(double value, double by) { return value / by; }
__attribute__((noinline)) int Scale(const Size& size, int by) { return Scale(size.width, by) + Scale(size.height, by); }

// part
__attribute__((noinline)) int Draw(const Size* sizes, int count, int zoom) {
  int area = 0;
  for (int i = 0; i < count; ++i) area += Scale(sizes[i], zoom - i) + static_cast<int>(Scale(1.0, 2.0));
  return area;
}
// end part

int main(int argc, char**) {
  const Size sizes[] = {{640, 480}, {800, 600}, {1024, 768}};
  std::printf("%d\n", Draw(sizes, 3, argc));
}
