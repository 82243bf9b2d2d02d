/* C: an error leaves by longjmp, and what it jumped over was never set. */
// frames: Total Run main
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct state {
  jmp_buf out;
  int* results;
  int errors;
};

static __attribute__((noinline)) void Prepare(struct state* state, int count) {
  if (count > 3) longjmp(state->out, 1);
  state->results = calloc(count, sizeof(int));
}

__attribute__((noinline)) int Total(const struct state* state, int count) {
  int total = 0;
#ifdef FIXED
  if (!state->results) return 0;
#endif
  for (int i = 0; i < count; ++i) total += state->results[i];
  return total;
}

__attribute__((noinline)) int Run(struct state* state, int count) {
  if (setjmp(state->out) == 0) {
    Prepare(state, count);
  } else {
    ++state->errors;
  }
  return Total(state, count) + state->errors;
}

int main(void) {
  struct state state = {.errors = 0};
  int first = Run(&state, 2);
  state.results = NULL;
  printf("%d\n", first + Run(&state, 5));
  return 0;
}
