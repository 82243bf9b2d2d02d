// A class template: a ring that is asked for more than it holds fails its assertion.
//
// frames: At Sum main
#include <cassert>
#include <cstddef>
#include <cstdio>

template <typename T, size_t N>
class Ring {
 public:
  void Push(const T& value) { values_[(begin_ + size_++) % N] = value; }
  const T& At(size_t index) const {
    assert(index < size_);  // split
    return values_[(begin_ + index) % N];
  }
  size_t size() const { return size_; }

 private:
  T values_[N] = {};
#ifdef CHANGED
  unsigned char flags_ = 0;
#endif
  size_t begin_ = 0;
  size_t size_ = 0;
};

template <typename T, size_t N>
__attribute__((noinline)) T Sum(const Ring<T, N>& ring) {
  T sum{};
#ifdef FIXED
  for (size_t i = 0; i < ring.size(); ++i) sum += ring.At(i);
#else
  for (size_t i = 0; i <= ring.size(); ++i) sum += ring.At(i);
#endif
  return sum;
}

int main(int argc, char**) {
  Ring<double, 8> ring;
  for (int i = 0; i < argc + 2; ++i) ring.Push(i * 0.5);
  std::printf("%.1f\n", Sum(ring));
}
