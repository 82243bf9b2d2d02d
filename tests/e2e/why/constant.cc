// A table has a hole.
#include <cstdio>

using Handler = int (*)(int);

int Twice(int value) { return 2 * value; }
int Square(int value) { return value * value; }

struct Table {
  Handler handlers[3];
};

__attribute__((noinline)) void Fill(Table* table) {
  table->handlers[0] = Twice;
  table->handlers[1] = nullptr;  // cause
  table->handlers[2] = Square;
}

__attribute__((noinline)) int Run(const Table& table, int value) {
  int sum = 0;
  for (Handler handler : table.handlers) sum += handler(value);
  return sum;
}

int main() {
  Table table;
  Fill(&table);
  std::printf("%d\n", Run(table, 3));
}
