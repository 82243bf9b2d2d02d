// A conversion operator that gives up by abort().
//
// frames: operator Use main
#include <cstdio>
#include <cstdlib>
#include <string>

class Handle {
 public:
  explicit Handle(std::string name, int number) : name_(std::move(name)), number_(number) {}
  __attribute__((noinline)) operator int() const {
    if (number_ < 0) std::abort();  // split
    return number_;
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
#ifdef CHANGED
  bool shared_ = false;
  double age_ = 1;
#endif
  int number_;
};

__attribute__((noinline)) int Use(const Handle& handle) {
#ifdef FIXED
  if (handle.name().empty()) return 0;
#endif
  return handle + 3;
}

int main(int argc, char**) {
  Handle open("file", argc), closed("", argc - 2);
  std::printf("%d\n", Use(open) + Use(closed));
}
