// Mode full: fields are copied once, before any of them may be written; with the function's own loads where that is
// possible.
// RUN: %clangxx -O2 -g %full -S -emit-llvm %s -o - | FileCheck %s
struct Node { int key, count; Node* next; };
int Get(int);
void Use(const Node*);

// On a path that writes nothing there is no copy. Where there is one the pointer stands beside it, though debug
// information follows it: a reader tells by it whether the copy was made.
// CHECK-LABEL: define {{.*}} @EarlyReturn(
// CHECK-NOT: volatile
// CHECK: [[KEY:%.*]] = load i32, ptr %0
// CHECK-NOT: volatile
// CHECK: br i1
// CHECK: store volatile ptr %0
// CHECK-NEXT: call void asm
// CHECK-NEXT: getelementptr
// CHECK-NEXT: store volatile i32 [[KEY]]
// CHECK-NEXT: call void asm
// CHECK: call {{.*}} @_Z3Geti
extern "C" int EarlyReturn(Node* n) {
  if (n->key == 0) return 0;
  const int got = Get(3);
  n->key = got;
  return got;
}

// At the entry it needs no such mark, and the function's load is the copy's.
// CHECK-LABEL: define {{.*}} @AtEntry(
// CHECK-NOT: store volatile ptr
// CHECK: [[COUNT:%.*]] = load i32, ptr
// CHECK: store volatile i32 [[COUNT]]
// CHECK-NOT: load
// CHECK: add {{.*}}[[COUNT]], 1
extern "C" void AtEntry(Node* n) { n->count = n->count + 1; }
