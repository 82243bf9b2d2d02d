// A copy of a class that owns a block owns it too: both free it.
//
// frames: ~Buffer main
#include <cstdio>
#include <cstdlib>
#include <cstring>

class Buffer {
 public:
  explicit Buffer(const char* text) : size_(std::strlen(text)), data_(static_cast<char*>(std::malloc(size_ + 1))) {
    std::memcpy(data_, text, size_ + 1);
  }
#ifdef FIXED
  Buffer(const Buffer& other) : Buffer(other.data_) {}
#endif
  __attribute__((noinline)) ~Buffer() { std::free(data_); }
  size_t size() const { return size_; }

 private:
  size_t size_;
  char* data_;
};

__attribute__((noinline)) size_t Use(const Buffer& original) {
  Buffer copy(original);
  return copy.size();
}

int main(int argc, char** argv) {
  size_t size;
  {
    Buffer buffer(argv[argc - 1]);
    size = Use(buffer);
  }
  std::printf("%d\n", size > 0);
}
