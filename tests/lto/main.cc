#include <cstdio>
#include <string>

#include "cursor.h"
int main(int argc, char**) {
  std::string text = "(";
  for (int i = 0; i < 200000; ++i) text += "(12 345 (6 7)\n 89) ";
  text += ")";
  Cursor cursor{text.data(), text.data() + text.size(), argc};
  std::printf("%ld\n", Value(&cursor));
}
