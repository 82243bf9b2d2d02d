// Frames whose size is not known when compiling, or that are realigned: the operand names the register that holds.
// RUN: %clangxx -O2 -S %s -o - | FileCheck %s
// RUN: %clangxx -O0 -S %s -o - | FileCheck %s
#include <alloca.h>
void Sink(void*);
// CHECK-LABEL: Dynamic:
// CHECK: .ascii "-{{[0-9]+}}(%rbp)"
extern "C" void Dynamic(int* p, long n) {
  Sink(alloca(n));
  Sink(p);
}
// CHECK-LABEL: Realigned:
// CHECK: .ascii "{{[0-9]*}}(%rsp)"
extern "C" void Realigned(int* p) {
  alignas(128) char buffer[128];
  Sink(buffer);
  Sink(p);
}
// CHECK-LABEL: Both:
// CHECK: .ascii "{{[0-9]*}}(%rbx)"
extern "C" void Both(int* p, long n) {
  alignas(128) char buffer[128];
  Sink(alloca(n));
  Sink(buffer);
  Sink(p);
}
