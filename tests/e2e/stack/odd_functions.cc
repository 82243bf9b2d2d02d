// Functions with a convention of their own: must tail call, naked, never return, take any number of arguments.
#include <cstdarg>
#include <cstdlib>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Fails;
using situation::Hidden;
using situation::Use;

// Each of these leaves its frame to the next.
[[gnu::noinline]] int Landing(int number, const char* name) {
  Use(number, name);
  FailIf("musttail");
  return Add(Work(Hidden(number + 1), Hidden("behind tail calls")));
}
[[gnu::noinline]] int Hop(int number, const char* name) {
  Use(name);
  [[clang::musttail]] return Landing(Hidden(number + 1), Hidden("landing"));
}
[[gnu::noinline]] int Skip(int number, const char* name) {
  Use(name);
  [[clang::musttail]] return Hop(Hidden(number + 1), Hidden("hopping"));
}
[[gnu::noinline]] int Tail(int number, const char* name) {
  Use(name);
  return Add(Skip(Hidden(number + 1), Hidden("skipping")));
}

extern "C" [[gnu::noinline]] int BehindNaked(int number, const char* name) {
  Use(number, name);
  FailIf("naked");
  return Add(Work(Hidden(number + 1), Hidden("behind a naked function")));
}
// A prologue of its own, which says itself where the frame is.
extern "C" __attribute__((naked)) int Naked(int, const char*) {
  asm("subq $24, %rsp\n.cfi_adjust_cfa_offset 24\n"
      "addl $1, %edi\n"
      "callq BehindNaked\n"
      "addq $24, %rsp\n.cfi_adjust_cfa_offset -24\n"
      "retq");
}
[[gnu::noinline]] int AroundNaked(int number, const char* name) {
  Use(name);
  return Add(Naked(Hidden(number + 1), Hidden("handed through")));
}

// Both calls of these are the last instructions of their functions: the return addresses lie behind them.
[[noreturn]] [[gnu::noinline]] void Die(int number, const char* name) {
  Use(name);
  std::exit(Add(Work(Hidden(number + 1), Hidden("dying"))) == 0);
}
[[noreturn]] [[gnu::noinline]] void Give(int number, const char* name) {
  Use(name);
  Die(Hidden(number + 1), Hidden("giving up"));
}

// Its own caller pushes for it.
[[gnu::noinline]] int Eight(int a, int b, int c, int d, int e, int f, int g, int h) {
  Use(a, b, c, d, e, f, g, h);
  FailIf("pushed");
  return Add(Work(Hidden(h + 1), Hidden("on eight arguments")));
}
// What is pushed makes the frame of the first call another one than that of the second, where the name is stored.
[[gnu::noinline]] int Push(const char* name, int number) {
  Use(number);
  const int result = Eight(Hidden(1), 2, 3, 4, 5, 6, Hidden(7), Hidden(5000));
  if (__builtin_expect(Hidden(result) != 0, 0)) return result;
  Use(name);
  return Add(result + Last(Hidden(1), &situation::g_one));
}

[[gnu::noinline]] int Sum(int count, const char* name, ...) {
  Use(name);
  va_list list;
  va_start(list, name);
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, int);
  va_end(list);
  FailIf("varargs");
  return Add(Work(Hidden(sum), Hidden("summed up")));
}
[[gnu::noinline]] int Many(int number, const char* name, double weight) {
  Use(name);
  Add(static_cast<int>(weight));
  return Add(Sum(Hidden(3), Hidden("three of them"), Hidden(number), Hidden(20), Hidden(3)));
}

int main(int count, char** words) {
  situation::Begin(count, words);
  FailIf("noreturn");
  if (Fails("noreturn")) Give(Hidden(3000), Hidden("given"));
  Add(Tail(Hidden(1000), Hidden("tail")));
  Add(AroundNaked(Hidden(2000), Hidden("around")));
  Add(Many(Hidden(4000), Hidden("many"), 2.5));
  Add(Push(Hidden("pushing"), Hidden(6000)));
  return situation::End();
}
