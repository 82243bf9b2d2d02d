// A static function does not use its first argument: an optimiser passes it no more.
//
// frames: Read Sum main
#include <cstdio>

struct Cell {
  const int* value;
};

static __attribute__((noinline)) int Read(const char* name, int level, const Cell* cell) {
#ifdef FIXED
  if (!cell->value) return 0;
#endif
  return *cell->value + 1;  // split
}

// part
static __attribute__((noinline)) int Sum(const char* name, const Cell* cells, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Read(name, i, &cells[i]);
  return sum;
}
// end part

int main(int argc, char** argv) {
  const int seven = 7;
  const Cell cells[] = {{&seven}, {argc > 3 ? &seven : nullptr}};
  std::printf("%d\n", Sum(argv[0], cells, argc + 1));
}
