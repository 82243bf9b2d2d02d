// What the program dies of, where, and in which surroundings: the words of its command line, `WAY CONTEXT SURROUNDINGS
// OTHERS`.
#ifndef RECRASH_TESTS_DEATHS_PROGRAM_DEATHS_H_
#define RECRASH_TESTS_DEATHS_PROGRAM_DEATHS_H_

#include <cstdint>

namespace deaths {

// All that a way needs. What a failing function gets is a pointer to it, as real programs hand objects on.
struct Box {
  int (*way)(Box*);
  void (*surround)(const Box&);
  int* slot;      // null, wild, ...
  char* page;     // of a mapping
  char* block;    // of the heap
  bool is_freed;  // the block, when the way begins
  int divisor;    // 0
  int count;
  uint64_t low;  // where the failing address must lie
  uint64_t high;
  const char* name;
};

// False: there is no such way.
bool Prepare(Box& box, const char* way);
// Never inlined: the caller of the failing function.
int Outer(Box* box);

// Run Outer in the context of that name; what comes out is the exit status.
bool RunIn(const char* context, Box& box, int& status);

// Null: no such surroundings.
void (*FindSurroundings(const char* name))(const Box&);

// What is said on stdout, in one write.
void Say(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Does nothing that the compiler knows of.
template <typename T>
[[gnu::always_inline]] inline T Hidden(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

}  // namespace deaths

#endif  // RECRASH_TESTS_DEATHS_PROGRAM_DEATHS_H_
