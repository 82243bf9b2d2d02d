// What Debian's flags for hardening add to functions: canaries, checked copies, landing pads for branches.
#include <string.h>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Fails;
using situation::Hidden;
using situation::Use;

// Fortified: aborts when the text does not fit.
[[gnu::noinline]] int Copy(int number, const char* text) {
  Use(number);
  char line[24];
  strcpy(line, text);
  return Add(static_cast<int>(strlen(line)));
}

// Overruns its array up to the first byte of the canary behind it, and writes nothing of its callers' frames.
[[gnu::noinline]] int Smash(int number, const char* name, bool far) {
  Use(number, name);
  char buffer[24] = {};
  char* volatile begin = buffer;
  unsigned long canary = 0;
  asm("movq %%fs:40, %0" : "=r"(canary));
  int count = 10;
  if (far)
    while (memcmp(begin + count - 1, &canary, sizeof canary) != 0) ++count;
  for (int i = 0; i < count; ++i) begin[i] = 'A';
  return buffer[3];
}

// A frame with an array, so with a canary, above the failure.
[[gnu::noinline]] int Protected(int number, const char* name) {
  char buffer[64];
  strncpy(buffer, name, sizeof buffer - 1);
  char* volatile kept = buffer;
  FailIf("fault");
  return Add(Work(Hidden(number + 1), Hidden("in a protected frame")) + kept[0]);
}

[[gnu::noinline]] int Overrun(int number, const char* name) {
  Use(name);
  return Add(Smash(Hidden(number + 1), Hidden("smashing"), Hidden(Fails("smashed"))));
}

// No array: no canary of its own.
[[gnu::noinline]] int Outer(int number, const char* name) {
  Use(name);
  int result = Add(Protected(Hidden(number + 1), Hidden("protected")));
  result += Add(Copy(Hidden(number + 2), Hidden(Fails("fortified") ? "more than twenty-four letters" : "short")));
  result += Add(Overrun(Hidden(number + 3), Hidden("overrunning")));
  return Add(result);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Outer(Hidden(1000), Hidden("outer")));
  return situation::End();
}
