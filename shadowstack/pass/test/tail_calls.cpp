// Tail calls stay jumps, those that must be included.
// RUN: %clangxx -O2 -S %s -o - | FileCheck %s
// RUN: %clangxx -O2 %full -S %s -o - | FileCheck %s

int Next(int*, long);
// CHECK-LABEL: Tail:
// CHECK: recrash_map
// CHECK: jmp _Z4NextPil
extern "C" int Tail(int* p, long n) { return Next(p, n + *p); }

// CHECK-LABEL: Must:
// CHECK: recrash_map
// CHECK: jmp _Z4NextPil
extern "C" int Must(int* p, long n) { [[clang::musttail]] return Next(p, n); }
