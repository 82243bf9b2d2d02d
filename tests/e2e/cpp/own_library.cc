// The failure lies in a shared library of the program's own.
//
// frames: Lookup Resolve main
// library
#include <cstddef>

struct Symbols {
  const char** names;
#ifdef CHANGED
  long version = 2;
#endif
  size_t count;
};

size_t Resolve(const Symbols* symbols, size_t wanted);

#ifdef LIBRARY
#include <cstring>

__attribute__((noinline)) size_t Lookup(const Symbols* symbols, size_t index) {
#ifdef FIXED
  if (!symbols->names[index]) return 0;
#endif
  return std::strlen(symbols->names[index]);  // split
}

size_t Resolve(const Symbols* symbols, size_t wanted) {
  size_t letters = 0;
  for (size_t i = 0; i < wanted; ++i) letters += Lookup(symbols, i);
  return letters;
}
#else
#include <cstdio>

int main() {
  const char* names[4] = {"main", "exit", nullptr, "abort"};
  Symbols symbols;
  symbols.names = names;
  symbols.count = 4;
  std::printf("%zu\n", Resolve(&symbols, symbols.count));
}
#endif
