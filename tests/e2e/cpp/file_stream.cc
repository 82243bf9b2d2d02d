// A std::ifstream: a record of the input has fewer fields than it should.
//
// frames: Field Total main
// input: pear;3;12\napple;4;20\nplum;1\n
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct Record {
  std::vector<std::string> fields;
};

std::istream& operator>>(std::istream& input, Record& record) {
  std::string line, field;
  record.fields.clear();
  std::getline(input, line);
  std::istringstream words(line);
  while (std::getline(words, field, ';')) record.fields.push_back(field);
  return input;
}

__attribute__((noinline)) const std::string& Field(const Record& record, size_t index) {
  return record.fields.at(index);  // split
}

__attribute__((noinline)) int Total(std::istream& input) {
  int total = 0;
  for (Record record; input >> record;) {
#ifdef FIXED
    if (record.fields.size() < 3) continue;
#endif
    total += std::stoi(Field(record, 1)) * std::stoi(Field(record, 2));
  }
  return total;
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  std::printf("%d\n", Total(input));
}
