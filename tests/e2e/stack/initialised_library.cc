// Its constructors run before any of the program's, the agent's among them.
#include <csetjmp>
#include <stdexcept>
#include <string>
#include <thread>

#include "situation.h"

using situation::Add;
using situation::Hidden;
using situation::Use;

std::jmp_buf g_library_back;

[[gnu::noinline]] int LibraryThrow(int number, const char* why) {
  Use(number);
  if (number > 0) throw std::range_error(why);
  return Add(number);
}

[[gnu::noinline]] int LibraryJump(int number, const char* name) {
  Use(name);
  if (number > 0) std::longjmp(g_library_back, number);
  return Add(number);
}

[[gnu::noinline]] void LibraryThread(int number, const char* name) {
  Use(name);
  try {
    Add(LibraryThrow(Hidden(number), Hidden("of a thread")));
  } catch (const std::range_error&) {
    Add(Work(Hidden(number), Hidden("in a thread before the agent")));
  }
}

struct LibraryGlobal {
  long sum = 0;
  LibraryGlobal() {
    try {
      Add(LibraryThrow(Hidden(1), Hidden("before the agent")));
    } catch (const std::range_error&) {
      Add(1);
    }
    if (const int jumped = setjmp(g_library_back); jumped == 0) Add(LibraryJump(Hidden(17), Hidden("jumping")));
    std::thread(LibraryThread, Hidden(200), Hidden("threaded")).join();
    sum = situation::g_total;
  }
};

LibraryGlobal g_library_global;

extern "C" long LibrarySum() { return g_library_global.sum; }
