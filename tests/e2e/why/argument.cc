// A caller passes what the callee cannot take.
#include <cstdio>
#include <cstring>

__attribute__((noinline)) size_t Width(const char* text, int indent) { return std::strlen(text) + indent; }

__attribute__((noinline)) size_t Row(const char* left, const char* right) { return Width(left, 2) + Width(right, 4); }

int main() {
  size_t width = Row("name", "value");
  width += Row("total", nullptr);  // cause
  std::printf("%zu\n", width);
}
