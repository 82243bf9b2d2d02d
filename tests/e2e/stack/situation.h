// What the programs of this folder share: calls with arguments that are gone by the time of a failure, and the failure.
#ifndef RECRASH_TESTS_E2E_STACK_SITUATION_H_
#define RECRASH_TESTS_E2E_STACK_SITUATION_H_

#include <cstdio>
#include <cstring>

namespace situation {

inline const char* g_word = "";  // of the command line: what is to fail
inline volatile long g_total;    // what a program that ends well prints
inline int g_one = 1;
inline int* volatile g_place = &g_one;

inline void Begin(int count, char** words) {
  if (count > 1) g_word = words[1];
}

inline bool Fails(const char* word) { return std::strcmp(g_word, word) == 0; }

// From here on `Last` fails, in a run of this word.
inline void FailIf(const char* word) {
  if (Fails(word)) g_place = nullptr;
}

inline int End() {
  std::printf("total %ld\n", g_total);
  return 0;
}

// What comes out is a value of which neither the compiler nor a call site in DWARF knows anything.
template <typename T>
[[gnu::always_inline]] inline T Hidden(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The only use that a function makes of its arguments: by the time of the call that follows they are dead, and the
// registers that had them are overwritten.
template <typename... T>
[[gnu::always_inline]] inline void Use(T... values) {
  const auto use = [](auto value) __attribute__((always_inline)) { asm volatile("" : : "r"(value)); };
  (use(values), ...);
}

// Work of a caller after a call, so that the call is no jump.
[[gnu::always_inline]] inline int Add(int result) {
  g_total = g_total + result;
  return result;
}

}  // namespace situation

[[gnu::noinline]] inline int Last(int number, int* place) { return *place + number; }

// The innermost frames of every situation: Last(number + 1, nullptr) and this one.
[[gnu::noinline]] inline int Work(int number, const char* name) {
  situation::Use(number, name);
  return situation::Add(Last(situation::Hidden(number + 1), situation::Hidden<int*>(situation::g_place)));
}

#endif  // RECRASH_TESTS_E2E_STACK_SITUATION_H_
