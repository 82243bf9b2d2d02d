// Built twice, as liba.so and libb.so: the same names, the same size, other code.
#include "situation.h"

using situation::Add;
using situation::Hidden;
using situation::Use;

#ifdef SECOND
[[gnu::noinline]] int Inner(const char* text, int* place, int number) {
  Use(text);
  return Add(Last(Hidden(number * 3), place));
}
extern "C" int Enter(int number, const char* name, int* place) {
  Use(name);
  return Add(Inner(Hidden("of the second"), Hidden(place), Hidden(number + 500)));
}
#else
[[gnu::noinline]] int Inner(int number, const char* text, int* place) {
  Use(text);
  return Add(Last(Hidden(number * 2), place));
}
extern "C" int Enter(int number, const char* name, int* place) {
  Use(name);
  return Add(Inner(Hidden(number + 400), Hidden("of the first"), Hidden(place)));
}
#endif
