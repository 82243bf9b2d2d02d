// Pointers to members, of data and of functions: the object that they are used with is missing.
//
// frames: Read Collect main
#include <cstdio>
#include <vector>

struct Row {
  int apples = 3;
#ifdef CHANGED
  char colour = 'r';
#endif
  int pears = 4;
  int Sum() const { return apples + pears; }
};

__attribute__((noinline)) int Read(const Row* row, int Row::* column, int (Row::*method)() const) {
#ifdef FIXED
  if (!row) return 0;
#endif
  return row->*column + (row->*method)();  // split
}

__attribute__((noinline)) int Collect(const std::vector<const Row*>& rows, int Row::* column) {
  int sum = 0;
  for (const Row* row : rows) sum += Read(row, column, &Row::Sum);
  return sum;
}

int main(int argc, char**) {
  Row row;
  std::printf("%d\n", Collect({&row, argc > 5 ? &row : nullptr}, argc > 3 ? &Row::apples : &Row::pears));
}
