// A function that throws, for situations that exceptions make; apart from the others, for some have none.
#ifndef RECRASH_TESTS_E2E_STACK_THROW_H_
#define RECRASH_TESTS_E2E_STACK_THROW_H_

#include <stdexcept>

#include "situation.h"

[[gnu::noinline]] inline int Throw(int number, const char* why) {
  situation::Use(number);
  if (number > 0) throw std::range_error(why);
  return situation::Add(number);
}

#endif  // RECRASH_TESTS_E2E_STACK_THROW_H_
