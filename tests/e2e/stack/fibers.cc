// Fibres of Boost.Context: one that fails while another waits on its own stack, and an exception within one.
#include <boost/context/fiber.hpp>
#include <stdexcept>
#include <utility>

#include "situation.h"
#include "throw.h"

using boost::context::fiber;
using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

fiber g_starter;  // who resumed the fibre that runs

[[gnu::noinline]] void Yield(int number, const char* name) {
  Use(number, name);
  g_starter = std::move(g_starter).resume();
  Add(1);
}

[[gnu::noinline]] void Body(int number, const char* name) {
  Use(name);
  Yield(Hidden(number + 1), Hidden("yielding"));
  try {
    Add(Throw(Hidden(number + 2), Hidden("in a fibre")));
  } catch (const std::range_error&) {
    if (number > 2500) FailIf("switched");
    Add(Work(Hidden(number + 100), Hidden("caught in a fibre")));
  }
}

fiber Make(int number, const char* name) {
  return fiber([number, name](fiber starter) {
    g_starter = std::move(starter);
    Body(Hidden(number), Hidden(name));
    return std::move(g_starter);
  });
}

[[gnu::noinline]] int Start(int number, const char* name) {
  Use(name);
  fiber first = Make(2000, "first");
  fiber second = Make(3000, "second");
  for (int round = 0; round < 2; ++round) {
    first = std::move(first).resume();
    second = std::move(second).resume();
  }
  return Add(number);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Start(Hidden(1000), Hidden("starting")));
  return situation::End();
}
