// Two stacks of makecontext that hand over to each other, with frames live on both.
#include <sys/mman.h>
#include <ucontext.h>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

ucontext_t g_main, g_first, g_second;

[[gnu::noinline]] int HandOver(int number, ucontext_t* from, ucontext_t* to) {
  Use(number);
  swapcontext(from, to);
  return Add(number);
}

// Waits for the other context in the midst of its own work.
[[gnu::noinline]] int Share(int number, const char* name, bool first) {
  Use(name);
  int sum = Add(HandOver(Hidden(number + 1), first ? &g_first : &g_second, first ? &g_second : &g_first));
  if (!first) FailIf("switched");
  sum += Work(Hidden(number + 100), name);
  return Add(sum);
}

[[gnu::noinline]] void Body(int number, int first) {
  Use(number);
  Add(Share(Hidden(number + 1), Hidden(first != 0 ? "first" : "second"), first != 0));
  if (first != 0) setcontext(&g_second);
}

void Prepare(ucontext_t* context, int number, int first) {
  constexpr size_t kSize = 256 << 10;
  getcontext(context);
  context->uc_stack.ss_sp = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  context->uc_stack.ss_size = kSize;
  context->uc_link = &g_main;
  makecontext(context, reinterpret_cast<void (*)()>(Body), 2, number, first);
}

[[gnu::noinline]] int Start(int number, const char* name) {
  Use(name);
  Prepare(&g_first, Hidden(2000), 1);
  Prepare(&g_second, Hidden(3000), 0);
  swapcontext(&g_main, &g_first);
  return Add(number);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Start(Hidden(1000), Hidden("starting")));
  return situation::End();
}
