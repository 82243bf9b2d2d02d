// fibonacci N [quiet]: calls and nothing else. quiet: no output, whose instructions gdb's `record` cannot follow.
#include <cstdio>
#include <cstdlib>

[[gnu::noinline]] long Fibonacci(int n) { return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2); }

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const long result = Fibonacci(std::atoi(argv[1]));
  if (argc == 2) std::printf("%ld\n", result);
  return result > 0 ? 0 : 1;
}
