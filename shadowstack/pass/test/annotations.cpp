// What the source says of a function wins over the list, and the list over the defaults.
// RUN: split-file %s %t
// RUN: %clangxx -O2 -g -fPIC %full -I%S/../../../include -mllvm -recrash-list=%t/all.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --implicit-check-not=" words"
// RUN: %clangxx -O0 -fPIC %full -I%S/../../../include -mllvm -recrash-list=%t/all.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --implicit-check-not=" words"
// RUN: %clangxx -O2 -Werror -Wall -I%S/../../../include -S -emit-llvm %t/program.cpp -o - | FileCheck %s --check-prefix=IR
// In C as well, and nothing where the compiler does not know the attribute.
// RUN: %clang -O1 -fPIC -I%S/../../../include -c %t/plain.c -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=PLAIN
// RUN: g++ -Wall -Wextra -Werror -fsyntax-only -I%S/../../../include -x c++ %t/plain.c
// RUN: gcc -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -I%S/../../../include %t/plain.c
// PLAIN: Sum: 2 words
// PLAIN-NOT: First
// RUN: not %clangxx -c %t/errors.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=ERRORS

// CHECK-DAG: Always: 2 words
// CHECK-DAG: _ZN6Method4KeptEi: 2 words
// CHECK-DAG: Depth0: 2 words
// CHECK-DAG: Depth1: 3 words
// Two descriptors of the function with a copy: before it and after it.
// CHECK-DAG: Depth1: 2 words

// Nothing is left of ours, and what others wrote stays. A function that was inlined everywhere is not kept for its
// annotation.
// IR-NOT: recrash::
// IR: @llvm.global.annotations = appending global [1 x
// IR-NOT: Inlined
// IR-NOT: recrash::

// ERRORS-DAG: error: {{.*}}errors.cpp:1: recrash: the annotation "recrash::nver" is not understood; known are never, always, depth=0, depth=1 or depth=2
// ERRORS-DAG: error: {{.*}}errors.cpp:2: recrash: the annotation "recrash::depth=9" is not understood
// ERRORS-DAG: error: {{.*}}errors.cpp:3: recrash: the annotation "recrash::never" belongs on a function

//--- all.list
src:*=never
fun:*Depth*=always
fun:*Depth*=depth=2
fun:Never=always

//--- plain.c
#include <recrash/recrash.h>
#ifdef __cplusplus
extern "C" {
#endif
RECRASH_ALWAYS RECRASH_DEPTH(2) int Sum(int a, int b);
RECRASH_NEVER int First(const int* p);
#ifdef __cplusplus
}
#endif
int Sum(int a, int b) { return a + b; }
int First(const int* p) { return *p; }

//--- errors.cpp
[[clang::annotate("recrash::nver")]] int a(int* p) { return *p; }
[[clang::annotate("recrash::depth=9")]] int b(int* p) { return *p; }
[[clang::annotate("recrash::never")]] int c = 1;

//--- program.cpp
#include <recrash/recrash.h>
int Call(int);
struct Method {
  int x;
  RECRASH_ALWAYS int Kept(int);
  int Other(int);
};
int Method::Kept(int i) { return x / i; }
int Method::Other(int i) { return x / i; }
extern "C" {
RECRASH_NEVER int Never(int* p) { return *p; }
RECRASH_ALWAYS int Always(int a, int b) { return a + b; }
RECRASH_DEPTH(0) void Depth0(int* p, int n) { *p += n; Call(n); }
RECRASH_DEPTH(1) void Depth1(int* p, int n) { *p += n; Call(n); }
[[clang::annotate("of another tool")]] void Other(int* p) { *p += Call(1); }
}
[[clang::annotate("recrash::never")]] static int Inlined(int* p) { return *p + Call(2); }
void Calls(int* p) { *p = Inlined(p); }
