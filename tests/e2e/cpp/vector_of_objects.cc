// An iterator into a vector is used after the vector has grown.
//
// frames: Weight Add Fill main
#include <cstdio>
#include <memory>
#include <vector>

struct Part {
  std::unique_ptr<int> weight;
#ifdef CHANGED
  double size = 1.5;
#endif
  std::vector<int> codes;
};

__attribute__((noinline)) int Weight(const Part& part) {
  return *part.weight + static_cast<int>(part.codes.size());  // split
}

__attribute__((noinline)) int Add(std::vector<Part>& parts, const Part* first, int number) {
  parts.push_back(Part());
  parts.back().weight = std::make_unique<int>(number);
#ifdef FIXED
  first = &parts.front();
#endif
  return Weight(*first);
}

// part
__attribute__((noinline)) int Fill(std::vector<Part>& parts, int count) {
  int sum = 0;
  const Part* first = &parts.front();
  for (int i = 0; i < count; ++i) sum += Add(parts, first, i);
  return sum;
}
// end part

int main() {
  std::vector<Part> parts(1);
  parts[0].weight = std::make_unique<int>(7);
  std::printf("%d\n", Fill(parts, 40));
}
