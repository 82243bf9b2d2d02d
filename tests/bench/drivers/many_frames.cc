// 164 frames on one stack: those of Step reproduce at the first try, those of Read only when all has been tried
// (replay_cost.py).
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>
struct Walk {
  std::vector<int> seen;
  std::string text;
};
static int consumed = 0;
// Frames of Step reproduce at once; frames of Read only when all has been tried.
__attribute__((noinline)) int Fail(Walk* walk, int* where) { return *where + walk->seen.size(); }
__attribute__((noinline)) int Step(Walk* walk, int left, int* where) {
  walk->seen.push_back(left);
  return (left ? Step(walk, left - 1, where) : Fail(walk, where)) + left;
}
__attribute__((noinline)) int Read(std::istream& in, Walk* walk, int left, int* where) {
  int number = 0;
  if (!(in >> number) && consumed > 80) return left;
  ++consumed;
  return (left ? Read(in, walk, left - 1, where) : Step(walk, 80, where)) + number;
}
int main(int argc, char**) {
  Walk walk;
  std::string numbers;
  for (int i = 0; i < 90; ++i) numbers += std::to_string(i) + " ";
  std::istringstream in(numbers);
  std::printf("%d\n", Read(in, &walk, 80, argc > 5 ? &argc : nullptr));
}
