// References to temporaries, a text that is a literal, a structure by value: the optimiser takes them all apart.
//
// frames: Describe Line Draw main
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

struct Point {
  double x, y, z;
};
struct Style {
  const char* colour;
  int width;
};

struct Canvas {
  std::vector<std::string> lines;
  void Line(const Point& from, const Point& to, Style style) { lines.push_back(Describe(style, Distance(from, to))); }
  static double Distance(const Point& from, const Point& to) { return (from.x - to.x) * (from.y - to.y) + from.z; }
  static std::string Describe(const Style& style, const double& length) {
#ifdef FIXED
    if (!style.colour) return "";
#endif
    return std::string(1, *style.colour) + std::to_string(length * style.width);
  }
};

const char* colours[] = {"red", nullptr};

static Point Make(double x) { return {x, x * 2, x * 3}; }

static void Draw(Canvas& canvas, std::string_view what, const int& count) {
  for (int i = 0; i < count; ++i) canvas.Line(Make(i), Point{1, 2, 3}, {colours[what.size() % 2], i + 1});
}

int main(int argc, char**) {
  Canvas canvas;
  Draw(canvas, "wide", 2);
  Draw(canvas, "box", argc + 1);
  std::printf("%zu\n", canvas.lines.size());
}
