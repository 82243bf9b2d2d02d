// A pointer is set in one case alone.
#include <cstdio>
#include <cstring>

__attribute__((noinline)) void Leave(long value) {
  volatile long here[16];
  for (volatile long& word : here) word = value;
}

__attribute__((noinline)) long Read(const long* from) { return *from; }

__attribute__((noinline)) long Choose(int kind) {
  static const long known = 7;
  const long* chosen;
  const long pad[4] = {1, 2, 3, kind};
  if (kind == 1) chosen = &known;
  return Read(chosen) + pad[kind & 3];  // cause
}

int main(int argc, char**) {
  Leave(16);
  long sum = Choose(1);
  Leave(16);
  std::printf("%ld\n", sum + Choose(argc + 1));
}
