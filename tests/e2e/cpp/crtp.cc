// Static polymorphism: a base class template calls a method of the class derived from it.
//
// frames: Cost Draw main
#include <cstdio>

template <typename Derived>
struct Widget {
  __attribute__((noinline)) int Draw(int times) const {
    int cost = 0;
    for (int i = 0; i < times; ++i) cost += static_cast<const Derived*>(this)->Cost();
    return cost;
  }
  int z = 1;
};

struct Image : Widget<Image> {
  const unsigned char* pixels = nullptr;
#ifdef CHANGED
  long long loaded_at = 0;
#endif
  int size = 0;
  __attribute__((noinline)) int Cost() const {
#ifdef FIXED
    if (!pixels) return 0;
#endif
    return pixels[size / 2] * z;  // split
  }
};

int main() {
  const unsigned char pixels[4] = {1, 2, 3, 4};
  Image first, second;
  first.pixels = pixels;
  first.size = 4;
  std::printf("%d\n", first.Draw(2) + second.Draw(2));
}
