// With a sanitizer the record stays in the frame, or there is none: never a place that cannot be read later.
// RUN: %clangxx -O0 -fsanitize=address -S %s -o - | FileCheck %s --check-prefix=NONE
// RUN: %clangxx -O2 -fsanitize=safe-stack -S %s -o - | FileCheck %s --check-prefix=NONE
// RUN: %clangxx -O2 -fsanitize=address -S %s -o - | FileCheck %s
// RUN: %clangxx -O0 -fsanitize=undefined -S %s -o - | FileCheck %s
// RUN: %clangxx -O2 -fsanitize=undefined -S %s -o - | FileCheck %s
// RUN: %clangxx -O2 -fsanitize=thread -S %s -o - | FileCheck %s
// NONE-NOT: recrash_map
// CHECK-LABEL: Function:
// CHECK: recrash_map
// CHECK: .ascii "{{-?[0-9]*}}(%r{{sp|bp|bx}})"
void Sink(void*);
extern "C" int Function(int* p, int n) {
  char buffer[16];
  Sink(buffer);
  return *p + buffer[n];
}
