// Shapes in shapes: lambdas, a visitor and two functions that call each other, inlined into each other.
//
// frames: AreaOfGroup Area main
#include <cstdio>
#include <memory>
#include <variant>
#include <vector>

struct Circle {
  double radius;
};
struct Square {
  double side;
};
struct Group;
using Shape = std::variant<Circle, Square, std::shared_ptr<Group>>;
struct Group {
  std::vector<Shape> shapes;
  double scale;
};

template <class... T>
struct Overloaded : T... {
  using T::operator()...;
};
template <class... T>
Overloaded(T...) -> Overloaded<T...>;

static double Area(const Shape& shape, int depth);

static double AreaOfGroup(const Group& group, int depth) {
  double sum = 0;
  for (const Shape& shape : group.shapes) sum += Area(shape, depth + 1);
  return sum * group.scale;
}

static double Area(const Shape& shape, int depth) {
  return std::visit(Overloaded{[](const Circle& circle) { return 3.14 * circle.radius * circle.radius; },
                               [](const Square& square) { return square.side * square.side; },
                               [depth](const std::shared_ptr<Group>& group) {
#ifdef FIXED
                                 if (!group) return 0.0;
#endif
                                 return AreaOfGroup(*group, depth);
                               }},
                    shape);
}

int main(int argc, char**) {
  auto inner = std::make_shared<Group>(Group{{Circle{1.0 * argc}, std::shared_ptr<Group>()}, 2});
  auto outer = std::make_shared<Group>(Group{{Square{2}, inner}, 0.5});
  std::printf("%f\n", Area(Shape(outer), 0));
}
