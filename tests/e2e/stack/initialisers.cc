// Before main and after it: constructors earlier than the agent's, those of a library, static initialisers; and
// destructors, atexit, thread-local ones.
#include <cstdlib>
#include <string>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

extern "C" long LibrarySum();

[[gnu::noinline]] int Around(int number, const char* name) {
  Use(number, name);
  return Add(Work(Hidden(number + 1), Hidden(name)));
}

// Priorities below 101 are the implementation's: this runs before the agent's own start-up.
extern "C" __attribute__((constructor(90))) void Early(int count, char** words) {
  situation::Begin(count, words);
  FailIf("early");
  Add(Around(Hidden(1000), Hidden("before the agent")));
  try {
    throw std::string("thrown before the agent's start-up");
  } catch (const std::string& text) {
    Add(static_cast<int>(text.size()));
  }
}

struct Global {
  int number;
  [[gnu::noinline]] Global(int given, const char* name) : number(given) {
    Use(name);
    FailIf("initialiser");
    Add(Around(Hidden(given + 1), Hidden("before main")));
  }
  [[gnu::noinline]] ~Global() {
    FailIf("destructor");
    Add(Around(Hidden(number + 2), Hidden("after main")));
    std::printf("after main: %ld\n", situation::g_total);
  }
};

Global g_global(Hidden(2000), Hidden("global"));

extern "C" void AtExit() {
  FailIf("atexit");
  Add(Around(Hidden(4000), Hidden("at exit")));
}

extern "C" __attribute__((destructor(90))) void VeryLate() {
  FailIf("late");
  Add(Around(Hidden(5000), Hidden("behind the agent")));
  std::printf("very late: %ld\n", situation::g_total);
}

int main() {
  Add(static_cast<int>(LibrarySum()));
  std::atexit(AtExit);
  return situation::End();
}
