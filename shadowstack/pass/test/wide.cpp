// __int128 in a register pair, vectors, long double and _Float16.
// RUN: %clangxx -O2 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
// RUN: %clangxx -O0 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
// RUN: %clangxx -O2 -g -mavx -DAVX -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=AVX

typedef float float4 __attribute__((ext_vector_type(4)));
void Sink(double);

// CHECK-LABEL: Wide: 6 words
// CHECK-NEXT: rdi: parameter 1+0, 4 bytes at 0
// CHECK-NEXT: rsi: parameter 2+0, 8 bytes at 8
// CHECK-NEXT: rdx: parameter 2+8, 8 bytes at 16
// CHECK-NEXT: xmm0: parameter 3+0, 16 bytes
// CHECK-NEXT: stack+0: parameter 4+0, 10 bytes
// CHECK-NEXT: xmm1: parameter 5+0, 2 bytes
extern "C" int Wide(int a, __int128 b, float4 c, long double d, _Float16 e) {
  Sink(a + b);
  Sink(c[0] + c[3]);
  return d + e;
}

#ifdef AVX
typedef float float8 __attribute__((ext_vector_type(8)));
// The upper half of a ymm register is not kept: no call from it, but what follows is in its place.
// AVX-LABEL: Wider: 3 words
// AVX-NEXT: xmm0: parameter 1+0, 8 bytes
// AVX-NEXT: unknown: parameter 2+0, 32 bytes
// AVX-NEXT: xmm2: parameter 3+0, 4 bytes
extern "C" int Wider(double a, float8 b, float c) {
  Sink(a);
  return b[7] + c;
}
#endif
