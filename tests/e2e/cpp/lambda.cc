// A lambda with captures by reference and by value, called with an index that is out of range.
//
// frames: operator() Apply Count main
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

template <typename F>
__attribute__((noinline)) int Apply(const std::vector<int>& numbers, F function) {
  int sum = 0;
  for (int number : numbers) sum += function(number);
  return sum;
}

__attribute__((noinline)) int Count(const std::vector<std::string>& words, const std::vector<int>& numbers,
                                    int offset) {
  int calls = 0;
  int sum = Apply(numbers, [&words, &calls, offset](int number) {
    ++calls;
#ifdef FIXED
    if (static_cast<size_t>(number + offset) >= words.size()) return 0;
#endif
    return static_cast<int>(words.at(number + offset).size());  // split
  });
  return sum + calls;
}

int main(int argc, char**) { std::printf("%d\n", Count({"one", "two", "three"}, {0, 1, 2}, argc)); }
