/* The C language: a table of functions has no entry for a command. */
// frames: Run Interpret main
// input: push push add halt?
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
  int stack[16];
  int depth;
#ifdef CHANGED
  const char* name;
#endif
  int halted;
};

typedef void operation(struct machine*);

static void Push(struct machine* machine) { machine->stack[machine->depth++] = 1; }
static void Add(struct machine* machine) {
  --machine->depth;
  machine->stack[machine->depth - 1] += machine->stack[machine->depth];
}
static void Halt(struct machine* machine) { machine->halted = 1; }

static operation* Find(const char* word) {
  if (!strcmp(word, "push")) return Push;
  if (!strcmp(word, "add")) return Add;
  if (!strcmp(word, "halt")) return Halt;
  return NULL;
}

// part
__attribute__((noinline)) int Run(struct machine* machine, const char* word) {
  operation* found = Find(word);
#ifdef FIXED
  if (!found) return 1;
#endif
  found(machine);
  return machine->depth;
}
// end part

__attribute__((noinline)) int Interpret(struct machine* machine, const char* file) {
  char word[64];
  FILE* input = fopen(file, "r");
  if (!input) exit(1);
  int last = 0;
  while (fscanf(input, "%63s", word) == 1) last = Run(machine, word);
  fclose(input);
  return last;
}

int main(int argc, char** argv) {
  struct machine machine;
  memset(&machine, 0, sizeof machine);
  printf("%d\n", Interpret(&machine, argv[argc - 1]));
  return 0;
}
