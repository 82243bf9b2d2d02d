// Frames left by longjmp, and others where they were.
#include <csetjmp>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

std::jmp_buf g_back;

[[gnu::noinline]] int Jump(int number, const char* name) {
  Use(name);
  if (number > 0) std::longjmp(g_back, Hidden(number));
  return Add(number);
}

[[gnu::noinline]] int Descend(int number, const char* name, int depth) {
  Use(name);
  if (depth > 0) return Add(Descend(Hidden(number + 1), Hidden("descending"), depth - 1));
  return Add(Jump(Hidden(number + 1), Hidden("left by a jump")));
}

[[gnu::noinline]] int Land(int number, const char* name) {
  Use(number, name);
  const int jumped = setjmp(g_back);
  if (jumped == 0) return Add(Descend(Hidden(5000), Hidden("gone"), Hidden(20)));
  FailIf("landed");
  return Add(Work(Hidden(jumped), Hidden("after the jump")));
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Land(Hidden(1000), Hidden("landing")));
  return situation::End();
}
