// Functions to be patched by patcher_test.cc: compiled with the pass, in a second-chance mode.
#ifndef RECRASH_AGENT_CLIENT_WATCH_TESTDATA_FUNCTIONS_H_
#define RECRASH_AGENT_CLIENT_WATCH_TESTDATA_FUNCTIONS_H_

#include <stdint.h>

struct Small {
  int a;
  float b;
};
struct Pair {
  double x;
  long y;
};
struct Large {
  long words[7];
};
typedef float Wide __attribute__((vector_size(32)));

extern "C" {
// Opaque: defined in the test.
long Sink(const void* what, long size);

long Integers(long a, int b, short c, char d, unsigned long e, bool f, long on_stack, int more);
double Floats(float a, double b, float c, double d, double e, double f, double g, double h, double on_stack);
long Structs(Small small, Pair pair, Large large, const Large& reference);
long Variadic(const char* format, ...);
long double X87(long double a, int b);
Large Returned(int seed, Small small);
// Begins with `push rax; call`: keeps nothing of its arguments.
long CallsAtOnce(const void* what, long size);
int SumOf(const int* values, int count);
int Recursive(int depth, const int* values);
int Throws(int value, const int* values);

// Loads every register with random values, calls RegisterProbe, and compares what that found.
// `in` and `out` are of RegisterState.
void CallRegisterProbe(const void* in, void* out);
extern char RegisterProbe[];

// Assembly: `Begins_push_short` and so on, by number; each takes (n, pointer to two longs) and gives what C would.
struct Beginning {
  const char* name;
  long (*function)(long, const long*);
};
extern const Beginning kBeginnings[];
extern const int kBeginningCount;
// The same, but each must be refused; `reason` is a RefusalText.
struct Refused {
  const char* name;
  const char* reason;
};
extern const Refused kRefused[];
extern const int kRefusedCount;
// mov eax, [rdi] at its entry.
int LoadsAtOnce(const int* pointer);
}

#endif  // RECRASH_AGENT_CLIENT_WATCH_TESTDATA_FUNCTIONS_H_
