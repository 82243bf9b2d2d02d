// Operators of a class: a row of a matrix that was moved from.
//
// frames: operator*= main
#include <cstdio>
#include <memory>
#include <utility>

class Matrix {
 public:
  explicit Matrix(int size) : size_(size), cells_(new double[size * size]()) {
    for (int i = 0; i < size; ++i) (*this)(i, i) = i + 1;
  }
  __attribute__((noinline)) double& operator()(int row, int column) { return cells_[row * size_ + column]; }  // split
  __attribute__((noinline)) Matrix& operator*=(double by) {
    for (int i = 0; i < size_; ++i) (*this)(i, i) *= by;
    return *this;
  }
  Matrix(Matrix&&) = default;
#ifdef FIXED
  Matrix& operator=(Matrix&& other) {
    std::swap(size_, other.size_);
    std::swap(cells_, other.cells_);
    return *this;
  }
#else
  Matrix& operator=(Matrix&& other) = default;
#endif

 private:
  int size_;
  std::unique_ptr<double[]> cells_;
};

int main() {
  Matrix first(3), second(4);
  first = std::move(second);
  second *= 2.5;
  std::printf("%.1f\n", first(2, 2));
}
