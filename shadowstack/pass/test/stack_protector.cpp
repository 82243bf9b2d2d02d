// The record does not make a function gain a stack protector, and one that needs it keeps it.
// RUN: %clangxx -O2 -fstack-protector-strong -S %s -o - | FileCheck %s
// RUN: %clangxx -O0 -fstack-protector-strong -S %s -o - | FileCheck %s
// RUN: %clangxx -O2 -fstack-protector -S %s -o - | FileCheck %s --check-prefix=PLAIN

void Sink(void*);
// CHECK-LABEL: Without:
// CHECK-NOT: %fs:40
// CHECK: recrash_map
// CHECK-NOT: %fs:40
// CHECK-LABEL: With:
// CHECK: %fs:40
// CHECK: recrash_map
// CHECK: __stack_chk_fail
// PLAIN-LABEL: Without:
// PLAIN-NOT: %fs:40
// PLAIN-LABEL: With:
// PLAIN: %fs:40
extern "C" long Without(long* a, long b, long c, long d, long e) {
  Sink(a);
  return *a + b + c + d + e;
}
extern "C" void With(int* p) {
  char buffer[64];
  Sink(buffer);
  Sink(p);
}
