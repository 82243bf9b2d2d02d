// A search that finds nothing returns -1, and that is used as a place.
#include <cstdio>
#include <vector>

struct Column {
  int id;
  const char* title;
};

__attribute__((noinline)) int PlaceOf(const std::vector<Column>& columns, int id) {
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].id == id) return static_cast<int>(i);
  return -1000000;  // cause
}

__attribute__((noinline)) char Initial(const std::vector<Column>& columns, int id) {
  return columns[static_cast<size_t>(PlaceOf(columns, id))].title[0];
}

int main() {
  std::vector<Column> columns = {{1, "name"}, {2, "age"}};
  std::printf("%c%c\n", Initial(columns, 1), Initial(columns, 3));
}
