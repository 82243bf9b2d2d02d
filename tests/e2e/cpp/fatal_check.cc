// A check of the program's own that prints what it found and aborts.
//
// frames: Fail Check Pay main
#include <cstdio>
#include <cstdlib>
#include <string>

[[noreturn]] __attribute__((noinline)) void Fail(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

#define CHECK(condition) ((condition) ? void() : Fail(#condition, __FILE__, __LINE__))

struct Purse {
  std::string owner;
#ifdef CHANGED
  bool locked = false;
#endif
  long cents;
};

__attribute__((noinline)) void Check(const Purse& purse) { CHECK(purse.cents >= 0); }

__attribute__((noinline)) long Pay(Purse& purse, long cents, int times) {
  for (int i = 0; i < times; ++i) {
#ifdef FIXED
    if (purse.cents < cents) break;
#endif
    purse.cents -= cents;
    Check(purse);
  }
  return purse.cents;
}

int main() {
  Purse purse;
  purse.owner = "Ada";
  purse.cents = 1000;
  std::printf("%ld\n", Pay(purse, 300, 4));
}
