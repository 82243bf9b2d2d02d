// Mode full: fields are copied before the first write, on paths that write; the pointer beside them, though debug
// information follows it: a reader tells by it whether the copies were made.
// RUN: %clangxx -O2 -g %full -S -emit-llvm %s -o - | FileCheck %s
struct Node { int key, count; };
int Get(int);

// CHECK-LABEL: define {{.*}} @EarlyReturn(
// CHECK-NOT: volatile
// CHECK: br i1
// CHECK: store volatile ptr %0
// CHECK: call void asm
// CHECK-NEXT: [[KEY:%.*]] = load i32, ptr %0
// CHECK: store volatile i32 [[KEY]]
// CHECK: call void asm
// CHECK: store i32
extern "C" int EarlyReturn(Node* n) {
  if (n->key == 0) return 0;
  n->count = n->key;
  return Get(3) + n->key;
}
