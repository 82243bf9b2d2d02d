/* C: a comparison that qsort calls meets a person without a name. */
// frames: ByName Sort main
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct person {
  const char* name;
#ifdef CHANGED
  short room;
#endif
  int age;
};

static __attribute__((noinline)) int ByName(const void* a, const void* b) {
  const struct person* first = a;
  const struct person* second = b;
#ifdef FIXED
  if (!first->name || !second->name) return !first->name - !second->name;
#endif
  return strcmp(first->name, second->name);
}

// part
__attribute__((noinline)) int Sort(struct person* people, int count) {
  qsort(people, count, sizeof *people, ByName);
  return people[0].age;
}
// end part

int main(int argc, char** argv) {
  struct person people[3];
  memset(people, 0, sizeof people);
  people[0].name = "Grace";
  people[0].age = 85;
  people[2].name = "Ada";
  people[2].age = 36;
  printf("%d\n", Sort(people, 3));
  return argv[argc] != NULL;
}
