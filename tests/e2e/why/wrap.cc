// A difference of unsigned numbers is less than nothing.
#include <cstdio>

__attribute__((noinline)) unsigned Gap(unsigned from, unsigned to) {
  return to - from;  // cause
}

__attribute__((noinline)) long At(const long* table, unsigned place) { return table[place]; }

int main() {
  static const long table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  long sum = 0;
  const unsigned marks[] = {2, 5, 4};
  for (int i = 0; i < 2; ++i) sum += At(table, Gap(marks[i], marks[i + 1]));
  std::printf("%ld\n", sum);
}
