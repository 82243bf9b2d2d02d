// A union: a number is taken for a pointer, since its tag is not looked at.
//
// frames: Length Print main
#include <cstdio>
#include <cstring>

struct Cell {
  enum Kind { kNumber, kText } kind;
  union {
    long number;
    const char* text;
  };
};

__attribute__((noinline)) size_t Length(const Cell& cell) {
#ifdef FIXED
  if (cell.kind == Cell::kNumber) return 8;
#endif
  return std::strlen(cell.text);  // split
}

// part
__attribute__((noinline)) size_t Print(const Cell* cells, int count) {
  size_t width = 0;
  for (int i = 0; i < count; ++i) width += Length(cells[i]);
  return width;
}
// end part

int main() {
  Cell cells[3] = {};
  cells[0].kind = cells[2].kind = Cell::kText;
  cells[0].text = "apples";
  cells[1].number = 17;
  cells[2].text = "pears";
  std::printf("%zu\n", Print(cells, 3));
}
