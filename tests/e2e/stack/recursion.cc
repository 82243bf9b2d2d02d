// A million calls of one function, each with arguments of its own.
#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

constexpr int kDepth = 1000000;

[[gnu::noinline]] int Down(int depth, const char* name) {
  Use(name);
  int result = 0;
  if (depth < kDepth)
    result = Down(Hidden(depth + 1), Hidden((depth & 1) == 0 ? "odd" : "even"));
  else
    result = Work(Hidden(7000), Hidden("at the bottom"));
  return Add(result);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  FailIf("bottom");
  Add(Down(Hidden(0), Hidden("even")));
  return situation::End();
}
