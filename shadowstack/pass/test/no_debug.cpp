// Without debug information a mangled name with scalars alone numbers the parameters; else they are 0.
// RUN: %clangxx -O2 -g0 -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
// RUN: %clangxx -O2 -gline-tables-only -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
void Sink(long);
struct S {
  long a, b;
  int Method(char c, int* p);
};
// CHECK-LABEL: _ZN1S6MethodEcPi: 3 words
// CHECK-NEXT: rdi: parameter 1
// CHECK-NEXT: rsi: parameter 2
// CHECK-NEXT: rdx: parameter 3
int S::Method(char c, int* p) { return a / c + *p; }
// CHECK-LABEL: _Z6ScalariPKcd: 2 words
// CHECK-NEXT: rsi: parameter 2
// CHECK-NEXT: xmm0: parameter 3
int Scalar(int, const char* p, double d) { return *p + d; }
// CHECK-LABEL: _Z5Class1SPi: 3 words
// CHECK-NEXT: rdi: parameter 0+0
// CHECK-NEXT: rsi: parameter 0+0
// CHECK-NEXT: rdx: parameter 0+0
int Class(S s, int* p) { return s.a / s.b + *p; }
