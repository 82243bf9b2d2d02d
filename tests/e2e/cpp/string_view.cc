// std::string_view: the rest behind a separator that is not there.
//
// frames: Value Parse main
// input: width=3\nheight=4\ndepth\n
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

__attribute__((noinline)) std::string_view Value(std::string_view line) {
  size_t sign = line.find('=');
#ifdef FIXED
  if (sign == line.npos) return {};
#endif
  return line.substr(sign + 1, line[sign + 1] == '"' ? 1 : line.size() - sign).substr(line.size() > 5 ? 0 : 9);
}

__attribute__((noinline)) size_t Parse(std::istream& input) {
  size_t letters = 0;
  for (std::string line; std::getline(input, line);) letters += Value(line).size();
  return letters;
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  std::printf("%zu\n", Parse(input));
}
