// A handler that fails between two instructions of a function: the word says between which, from 0 at its entry.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>

#include "situation.h"

using situation::Add;
using situation::Hidden;
using situation::Use;

extern "C" char __start_stepped[], __stop_stepped[];  // of the section, by the linker

constexpr greg_t kTrapFlag = 0x100;

int g_left;            // steps of Stepped before the failure
volatile bool g_done;  // Stepped has returned

[[gnu::noinline]] int Inner(int number, const char* name) {
  Use(number, name);
  return Add(1);
}

[[gnu::noinline, gnu::section("stepped")]] int Stepped(int number, const char* name, long third) {
  Use(number, third);
  const int result = Inner(Hidden(number + 1), Hidden(name));
  return Add(result) + Inner(Hidden(result), Hidden("twice"));
}

[[gnu::noinline]] int Outer(int number, const char* name) {
  Use(name);
  return Add(Stepped(Hidden(number + 1), Hidden("stepped"), Hidden(3000000000L)));
}

bool IsInStepped(greg_t pc) {
  const char* address = reinterpret_cast<const char*>(pc);
  return address >= __start_stepped && address < __stop_stepped;
}

void HandleSteps() {
  constexpr size_t kSize = 128 << 10;
  stack_t stack = {};
  stack.ss_sp = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = kSize;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = [](int, siginfo_t*, void* context) {
    greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (IsInStepped(registers[REG_RIP]) && g_left-- == 0) {
      situation::g_place = nullptr;
      Add(Work(Hidden(7000), Hidden("in the handler")));
    }
    if (g_done)
      registers[REG_EFL] &= ~kTrapFlag;
    else
      registers[REG_EFL] |= kTrapFlag;
  };
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, nullptr);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  g_left = count > 1 ? std::atoi(situation::g_word) : -1;
  HandleSteps();
  raise(SIGTRAP);
  Add(Outer(Hidden(1000), Hidden("around")));
  g_done = true;
  return situation::End();
}
