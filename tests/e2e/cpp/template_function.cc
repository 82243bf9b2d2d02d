// A function template with a specialisation: a number that is none ends in an exception that nobody catches.
//
// frames: Parse ParseAll main
// input: 12 7 eleven 3
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

template <typename T>
T Parse(const std::string& word);

template <>
__attribute__((noinline)) long Parse<long>(const std::string& word) {
#ifdef FIXED
  if (word.find_first_not_of("0123456789") != std::string::npos) return 0;
#endif
  return std::stol(word);  // split
}

template <typename T>
__attribute__((noinline)) std::vector<T> ParseAll(std::istream& input) {
  std::vector<T> all;
  for (std::string word; input >> word;) all.push_back(Parse<T>(word));
  return all;
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  std::printf("%zu\n", ParseAll<long>(input).size());
}
