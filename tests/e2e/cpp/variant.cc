// std::variant: the alternative that it does not hold.
//
// frames: Number Add main
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

using Value = std::variant<int, double, std::string>;

__attribute__((noinline)) double Number(const Value& value) {
#ifdef FIXED
  if (auto* text = std::get_if<std::string>(&value)) return static_cast<double>(text->size());
#endif
  if (auto* whole = std::get_if<int>(&value)) return *whole;
  return std::get<double>(value);  // split
}

__attribute__((noinline)) double Add(const std::vector<Value>& values) {
  double sum = 0;
  for (const Value& value : values) sum += Number(value);
  return sum;
}

int main() { std::printf("%.1f\n", Add({1, 2.5, std::string("three")})); }
