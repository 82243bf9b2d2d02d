// A spreadsheet: formulas keep pointers to the cells they use. Deleting a row moves the cells and leaves the pointers
// as they are.
//
// frames: Number Value Recalculate main
// input: set 0 0 5\nset 1 0 7\nset 2 0 9\nset 3 0 11\nsum 4 0 2 0 3 0\nremove 1\nset 0 0 6\nshow\n
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

struct Cell {
  std::unique_ptr<long> number;
  std::vector<const Cell*> uses;
#ifdef CHANGED
  std::string format;
#endif
  bool formula = false;
#ifdef FIXED
  int rows[2] = {-1, -1};
#endif
};

class Sheet {
 public:
  explicit Sheet(int rows) : cells_(rows) {}

  void Set(int row, long number) {
    cells_[row].number = std::make_unique<long>(number);
    cells_[row].formula = false;
  }

  void Sum(int row, int first, int second) {
    Cell& cell = cells_[row];
    cell.formula = true;
    cell.uses = {&cells_[first], &cells_[second]};
#ifdef FIXED
    cell.rows[0] = first;
    cell.rows[1] = second;
#endif
  }

  __attribute__((noinline)) void Remove(int row) {
    for (size_t i = row; i + 1 < cells_.size(); ++i) std::swap(cells_[i], cells_[i + 1]);
    cells_.back() = Cell();
#ifdef FIXED
    for (Cell& cell : cells_)
      for (size_t i = 0; i < cell.uses.size(); ++i) {
        if (cell.rows[i] > row) --cell.rows[i];
        cell.uses[i] = &cells_[cell.rows[i]];
      }
#endif
    ++changes_;
  }

  __attribute__((noinline)) long Recalculate() const {
    long sum = 0;
    for (const Cell& cell : cells_)
      if (cell.formula || cell.number) sum += Value(cell);
    return sum;
  }

 private:
  __attribute__((noinline)) static long Number(const Cell& cell) { return *cell.number; }  // split

  __attribute__((noinline)) static long Value(const Cell& cell) {
    if (!cell.formula) return Number(cell);
    long sum = 0;
    for (const Cell* used : cell.uses) sum += Number(*used);
    return sum;
  }

  std::vector<Cell> cells_;
  int changes_ = 0;
};

__attribute__((noinline)) long Execute(Sheet& sheet, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  int row = 0, column, first, second;
  long number;
  words >> command >> row;
  if (command == "set") {
    words >> column >> number;
    sheet.Set(row, number);
  } else if (command == "sum") {
    words >> column >> first >> column >> second;
    sheet.Sum(row, first, second);
  } else if (command == "remove") {
    sheet.Remove(row);
  } else if (command == "show") {
    return sheet.Recalculate();
  }
  return 0;
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  Sheet sheet(8);
  long shown = 0;
  for (std::string line; std::getline(input, line);) shown += Execute(sheet, line);
  std::printf("%ld\n", shown);
}
