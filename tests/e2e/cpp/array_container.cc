// std::array: at() behind the end, thrown through a function that promises not to throw.
//
// frames: Pick Middle main
#include <array>
#include <cstdio>

struct Table {
  std::array<short, 5> rows{1, 2, 3, 4, 5};
#ifdef CHANGED
  float scale = 1;
#endif
  int used = 5;
};

__attribute__((noinline)) int Pick(const Table& table, size_t index) { return table.rows.at(index); }  // split

// part
__attribute__((noinline)) int Middle(const Table& table, int shift) noexcept {
#ifdef FIXED
  return Pick(table, static_cast<size_t>(table.used / 2 + shift) % table.rows.size());
#else
  return Pick(table, static_cast<size_t>(table.used / 2 + shift));
#endif
}
// end part

int main(int argc, char**) {
  Table table;
  std::printf("%d\n", Middle(table, argc) + Middle(table, argc + 3));
}
