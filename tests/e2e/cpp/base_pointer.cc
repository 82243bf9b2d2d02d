// An object is deleted through a pointer to its base, and used through another one.
//
// frames: Area Sum main
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

struct Shape {
  virtual ~Shape() { std::memset(static_cast<void*>(this), 0, sizeof *this); }
  virtual double Area() const = 0;
  int id = 0;
};

struct Square : Shape {
  explicit Square(double side) : side(side) {}
  ~Square() override { side = 0; }
  double Area() const override { return side * side; }
  double side;
};

__attribute__((noinline)) double Area(const Shape* shape) { return shape->Area() + shape->id; }  // split

__attribute__((noinline)) double Sum(std::vector<std::unique_ptr<Shape>>& shapes, const Shape* chosen) {
  double sum = Area(chosen);
#ifndef FIXED
  if (shapes.size() > 2) shapes.erase(shapes.begin() + 1);
#endif
  for (const auto& shape : shapes) sum += Area(shape.get());
  alignas(Square) static char room[sizeof(Square)];
  if (shapes.size() == 2) chosen = reinterpret_cast<const Shape*>(room);
  return sum + Area(chosen);
}

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 1; i < 4; ++i) shapes.push_back(std::make_unique<Square>(i));
  const Shape* chosen = shapes[1].get();
  std::printf("%.1f\n", Sum(shapes, chosen));
}
