// Views of <ranges>: a filter lets an element through that the next step cannot take.
//
// frames: Lengths main
#include <cstdio>
#include <ranges>
#include <string>
#include <vector>

struct Line {
  const std::string* text;
  bool hidden = false;
};

__attribute__((noinline)) size_t Lengths(const std::vector<Line>& lines) {
  size_t sum = 0;
#ifdef FIXED
  auto shown = lines | std::views::filter([](const Line& line) { return !line.hidden && line.text; });
#else
  auto shown = lines | std::views::filter([](const Line& line) { return !line.hidden; });
#endif
  for (size_t length : shown | std::views::transform([](const Line& line) { return line.text->size(); })) sum += length;
  return sum;
}

int main() {
  const std::string text = "a line";
  std::printf("%zu\n", Lengths({{&text}, {nullptr, true}, {nullptr}}));
}
