// A leaf keeps its record in the red zone: no instruction but the stores.
// RUN: %clangxx -O2 -S %s -o - | FileCheck %s
// CHECK-LABEL: Leaf:
// CHECK-NOT: rsp{{$}}
// CHECK: movq %rdi, -{{[0-9]+}}(%rsp)
// CHECK: .ascii "-{{[0-9]+}}(%rsp)"
// CHECK: retq
extern "C" int Leaf(int* p, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += p[i];
  return sum;
}
