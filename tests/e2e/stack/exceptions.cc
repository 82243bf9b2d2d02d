// Exceptions that meet others: frames left by one, entered again in a handler, unwound while another is in flight.
#include <exception>
#include <stdexcept>
#include <string>

#include "situation.h"
#include "throw.h"

using situation::Add;
using situation::FailIf;
using situation::Fails;
using situation::Hidden;
using situation::Use;

// Passes on what it caught.
[[gnu::noinline]] int Pass(int number, const char* name) {
  Use(number, name);
  try {
    return Add(Throw(Hidden(number + 1), Hidden("first")));
  } catch (const std::range_error&) {
    throw;
  }
}

// Throws a second exception, around the first one.
[[gnu::noinline]] int Nest(int number, const char* name) {
  Use(number, name);
  try {
    return Add(Pass(Hidden(number + 1), Hidden("passing")));
  } catch (const std::exception&) {
    std::throw_with_nested(std::logic_error("second"));
  }
}

// Unpacks the one in a handler within the handler of the other.
[[gnu::noinline]] int Unpack(int number, const char* name) {
  Use(number, name);
  try {
    return Add(Nest(Hidden(number + 1), Hidden("nesting")));
  } catch (const std::exception& outer) {
    try {
      std::rethrow_if_nested(outer);
    } catch (const std::range_error&) {
      FailIf("nested");
      return Add(Work(Hidden(number + 100), Hidden("in two handlers")));
    }
  }
  return 0;
}

[[gnu::noinline]] int Promise(int number, const char* name) noexcept {
  Use(number, name);
  return Add(Pass(Hidden(number + 1), Hidden("through noexcept")));
}

struct Guard {
  int number;
  const char* name;
  [[gnu::noinline]] ~Guard() {
    Use(number);
    FailIf("unwinding");
    situation::g_total = situation::g_total + Work(Hidden(number + 1), Hidden("destroyed"));
  }
};

[[gnu::noinline]] int Unwind(int number, const char* name) {
  Use(name);
  const Guard guard{Hidden(number + 50), name};
  return Add(Throw(Hidden(number + 1), Hidden("unwinding")));
}

struct Thrower {
  int number;
  [[gnu::noinline]] ~Thrower() noexcept(false) {
    Use(number);
    const bool twice = Fails("destructor") || std::uncaught_exceptions() == 0;
    situation::g_total = situation::g_total + (twice ? Throw(Hidden(number + 1), Hidden("from a destructor")) : 1);
  }
};

[[gnu::noinline]] int ThrowTwice(int number, const char* name) {
  Use(name);
  const Thrower thrower{Hidden(number + 50)};
  return Add(Throw(Hidden(number + 1), Hidden("first of two")));
}

template <typename Function>
void Try(Function function) {
  try {
    Add(function());
  } catch (const std::exception& error) {
    std::printf("caught %s\n", error.what());
  }
}

int main(int count, char** words) {
  situation::Begin(count, words);
  if (Fails("noexcept")) Promise(Hidden(4000), Hidden("promised"));
  if (Fails("rethrown")) Pass(Hidden(5000), Hidden("uncaught"));
  Try([] { return Unpack(Hidden(1000), Hidden("unpacking")); });
  Try([] { return Unwind(Hidden(2000), Hidden("guarded")); });
  Try([] { return ThrowTwice(Hidden(3000), Hidden("twice")); });
  return situation::End();
}
