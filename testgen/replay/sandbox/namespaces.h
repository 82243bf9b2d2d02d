// Namespaces for replays: a network, System V objects, mounts and process numbers of their own.
//
// A process of its own, the *holder*, is made in them and waits there. It is the first of its process numbers, so all
// that runs there is killed with it, and it is killed with the process that made it. That process stays outside: it can
// start threads, and reads /proc as ever. Each replay is started inside.
//
//   static const Namespaces namespaces = MakeNamespaces();
//   const long process = StartInside(namespaces, stack_end, RunReplay, &number);
#ifndef RECRASH_TESTGEN_REPLAY_SANDBOX_NAMESPACES_H_
#define RECRASH_TESTGEN_REPLAY_SANDBOX_NAMESPACES_H_

#include <stdint.h>

namespace recrash::replay {

struct Namespaces {
  static constexpr int kMost = 5;
  int kinds = 0;     // CLONE_NEW…; 0: none are allowed here
  int root = -1;     // descriptor of the folder that is / inside
  int files[kMost];  // descriptors of the namespaces, those of `kinds`
};

// Returns the most that is allowed here: all of them, or network and System V objects, or none.
Namespaces MakeNamespaces();

// Returns whether processes inside have numbers and a /proc of their own.
bool HaveNumbers(const Namespaces& namespaces);

// Starts a copy of this process inside, as fork does it, whose parent is this process. It calls `run` on a stack that
// ends at `stack_end`; `run` does not return. *number becomes its number out here before it runs. Returns that number,
// or -1. REQUIRES: namespaces.kinds is not 0.
long StartInside(const Namespaces& namespaces, void* stack_end, void (*run)(), int32_t* number);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_SANDBOX_NAMESPACES_H_
