// An object under construction: the constructor of a base calls a method that only the derived class has.
//
// frames: Describe Shape Square Add main
#include <cstdio>
#include <string>
#include <vector>

struct Shape {
  __attribute__((noinline)) explicit Shape(std::vector<std::string>& list);
  virtual ~Shape() = default;
  virtual std::string Name() const = 0;
  __attribute__((noinline)) void Describe(std::vector<std::string>& list) const { list.push_back(Name()); }
};

#ifdef FIXED
Shape::Shape(std::vector<std::string>&) {}
#else
Shape::Shape(std::vector<std::string>& list) { Describe(list); }
#endif

struct Square : Shape {
  __attribute__((noinline)) Square(std::vector<std::string>& list, int side) : Shape(list), side(side) {}
  std::string Name() const override { return "square of " + std::to_string(side); }
  int side;
};

__attribute__((noinline)) size_t Add(std::vector<std::string>& list, int side) {
  Square square(list, side);
  square.Describe(list);
  return list.size();
}

int main(int argc, char**) {
  std::vector<std::string> list;
  std::printf("%zu\n", Add(list, argc));
}
