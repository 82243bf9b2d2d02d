// Structures by value: coerced into registers, in memory, and by address when copying them is not trivial.
// RUN: %clangxx -O2 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
// RUN: %clangxx -O0 -g -c %s -o %t.o && %plainxx -shared -fuse-ld=lld %t.o -o %t.so && %map %t.so | FileCheck %s

void Sink(long);

struct Pair { int a, b; };
struct Mixed { double a; long b; };
struct Triple { float a, b, c; };
struct Pointer { int* p; };
// CHECK-LABEL: Coerced: 6 words
// CHECK-NEXT: rdi: parameter 1+0, 8 bytes
// CHECK-NEXT: xmm0: parameter 2+0, 8 bytes
// CHECK-NEXT: rsi: parameter 2+8, 8 bytes
// CHECK-NEXT: xmm1: parameter 3+0, 8 bytes
// CHECK-NEXT: xmm2: parameter 3+8, 4 bytes
// CHECK-NEXT: rdx: parameter 4+0, 8 bytes {{at [0-9]+$|not stored followed$}}
extern "C" int Coerced(Pair p, Mixed m, Triple t, Pointer q) {
  Sink(p.a + p.b + m.a + m.b);
  return t.a + t.b + t.c + *q.p;
}

struct Large { long a, b, c; short d; };
// An integer behind it is in its register all the same, and an __int128 is not torn: r9 stays empty.
// CHECK-LABEL: InMemory: 12 words
// CHECK-NEXT: stack+0: parameter 1+0, 8 bytes at 0 byval
// CHECK-NEXT: stack+8: parameter 1+8, 8 bytes at 8 byval
// CHECK-NEXT: stack+16: parameter 1+16, 8 bytes at 16 byval
// CHECK-NEXT: stack+24: parameter 1+24, 8 bytes at 24 byval
// CHECK-NEXT: rdi: parameter 2+0, 4 bytes
// CHECK-NEXT: rsi: parameter 3+0, 4 bytes
// CHECK-NEXT: rdx: parameter 4+0, 4 bytes
// CHECK-NEXT: rcx: parameter 5+0, 4 bytes
// CHECK-NEXT: r8: parameter 6+0, 4 bytes
// CHECK-NEXT: stack+32: parameter 7+0, 10 bytes
// CHECK-NEXT: stack+48: parameter 8+0, 8 bytes
// CHECK-NEXT: stack+56: parameter 8+8, 8 bytes
extern "C" int InMemory(Large l, int i, int j, int k, int m, int n, long double d, __int128 w) {
  Sink(l.a + l.b + l.c + l.d);
  Sink(i + j + k + m + n);
  Sink(w);
  return d;
}

struct NonTrivial {
  long a;
  NonTrivial(const NonTrivial&);
  ~NonTrivial();
};
struct Result { long a[4]; };
// The hidden address of the result is a word of no parameter.
// CHECK-LABEL: Indirect: 2 words
// CHECK-NEXT: rdi: parameter 0+0, 8 bytes
// CHECK-NEXT: rsi: parameter 1+0, 8 bytes at 8 indirect
extern "C" Result Indirect(NonTrivial n) {
  Sink(n.a);
  return {{n.a}};
}

struct Huge { long a[9]; };
// More than 64 bytes: no words, they lie in the saved stack.
// CHECK-LABEL: TooLarge: 1 words
// CHECK-NEXT: rdi: parameter 2+0, 8 bytes
extern "C" long TooLarge(Huge h, long* p) {
  Sink(h.a[3]);
  return *p;
}
