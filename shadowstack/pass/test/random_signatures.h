// What a generated program of random signatures tells the checker about each call (random_signatures.py writes the
// program, random_signatures.cc checks).
#ifndef RECRASH_SHADOWSTACK_PASS_TEST_RANDOM_SIGNATURES_H_
#define RECRASH_SHADOWSTACK_PASS_TEST_RANDOM_SIGNATURES_H_

#include <stddef.h>

namespace recrash::test {

enum ParameterFlags {
  kUsed = 1,             // the callee reads it, so its words must be there
  kMayBeUntraced = 4,    // its word need not name the parameter
  kPassedByAddress = 2,  // a non-trivial class: the word is the address of a copy
};

// Announces the call of function `name`. `internal` functions may have lost parameters to the optimiser.
void Begin(const char* name, bool internal, bool has_sret);
// The next parameter: its bytes as passed. MeaningfulBytes narrows what is compared down to what is not padding.
void Passes(const void* bytes, size_t size, int flags);
void MeaningfulBytes(size_t offset, size_t size);
// The words cannot hold all of the call (large objects on the stack, upper halves of vectors): it is not made again.
void CannotBeCalledAgain();
void End();
// Prints the totals; the exit code. Mode full must have kept fields, too.
int Finish(bool wants_fields);

// In the callee: a parameter has not the value that was passed.
void Differs(int parameter);
// In the callee: reads the caller's record through the map, compares, and calls the callee again from it.
__attribute__((noinline)) void Probe();

}  // namespace recrash::test

#endif  // RECRASH_SHADOWSTACK_PASS_TEST_RANDOM_SIGNATURES_H_
