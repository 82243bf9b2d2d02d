// An exception carried from the thread that threw it to one that waits: there a handler fails, or none catches it.
#include <exception>
#include <stdexcept>
#include <thread>

#include "situation.h"
#include "throw.h"

using situation::Add;
using situation::FailIf;
using situation::Fails;
using situation::Hidden;
using situation::Use;

std::exception_ptr g_carried;

[[gnu::noinline]] void Produce(int number, const char* name) {
  Use(number, name);
  try {
    Add(Throw(Hidden(number + 1), Hidden("carried")));
  } catch (...) {
    g_carried = std::current_exception();
  }
}

[[gnu::noinline]] int Receive(int number, const char* name) {
  Use(number, name);
  if (g_carried) std::rethrow_exception(g_carried);
  return Add(number);
}

[[gnu::noinline]] int Wait(int number, const char* name) {
  Use(number, name);
  std::thread(Produce, Hidden(2000), Hidden("producing")).join();
  if (Fails("uncaught")) return Add(Receive(Hidden(number + 1), Hidden("receiving")));
  try {
    return Add(Receive(Hidden(number + 1), Hidden("receiving")));
  } catch (const std::range_error&) {
    FailIf("received");
    return Add(Work(Hidden(number + 100), Hidden("received")));
  }
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Wait(Hidden(1000), Hidden("waiting")));
  return situation::End();
}
