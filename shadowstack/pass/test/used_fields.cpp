// Mode full: the fields that a function uses, and each rule that forbids a copy.
// RUN: %clangxx -O2 -g %full -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
// RUN: %clangxx -O2 -g %full -mllvm -recrash-depth=0 -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=NONE
// RUN: %clangxx -O2 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=NONE
// RUN: %clangxx -O0 -g %full -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=O0
// NONE-NOT: field

void Sink(void*);
struct Node {
  long pad[4];
  int key;
  short flags;
  Node* next;
};

// Certainly executed: a load that is copied at the head faults there only if the function would. First the words alone
// have a descriptor, so that such a fault finds them.
// CHECK-LABEL: Copied: 1 words
// CHECK-NEXT: rdi: parameter 1+0, 8 bytes
// CHECK-LABEL: Copied: 4 words
// CHECK-NEXT: rdi: parameter 1+0, 8 bytes
// CHECK-NEXT: field: parameter 1+32, 4 bytes at 8
// CHECK-NEXT: field: parameter 1+36, 2 bytes at 12
// CHECK-NEXT: field: parameter 1+40, 8 bytes at 16
// O0-LABEL: Copied: 4 words
// O0-NEXT: rdi: parameter 1+0, 8 bytes
// O0-NEXT: field: parameter 1+32, 4 bytes at 8
extern "C" int Copied(Node* n) {
  n->flags = n->key;
  Node* next = n->next;
  Sink(n);
  return next == nullptr;
}

// Only in a branch, and behind a call: a copy at the head could fault where the function does not.
// CHECK-LABEL: Conditional: 2 words
// CHECK-NEXT: rdi
// CHECK-NEXT: rsi
// CHECK-NOT: field
extern "C" void Conditional(Node* n, bool b) {
  Sink(nullptr);
  if (b) n->key = 3;
}

// A reference says that it can be loaded.
// CHECK-LABEL: Dereferenceable: 2 words
// CHECK-LABEL: Dereferenceable: 3 words
// CHECK: field: parameter 1+32, 4 bytes
extern "C" void Dereferenceable(Node& n, bool b) {
  Sink(nullptr);
  if (b) n.key = 3;
}

// `const` in the source: read at the crash instead.
// CHECK-LABEL: ConstPointee: 1 words
// CHECK-NOT: field
extern "C" int ConstPointee(const Node* n) {
  Sink(const_cast<Node*>(n));
  return n->key;
}

// LLVM finds that nothing is written.
// CHECK-LABEL: ReadOnly: 1 words
// CHECK-NOT: field
extern "C" int ReadOnly(Node* n) { return n->key / n->flags; }

// At most 64 bytes of a parameter.
// CHECK-LABEL: Limited: 9 words
// CHECK-COUNT-8: field: parameter 1
// CHECK-NOT: field
extern "C" void Limited(long* p) {
  for (int i = 0; i < 12; ++i) p[i * 3] += i;
  Sink(p);
}

// The address depends on a value: not copied.
// CHECK-LABEL: Indexed: 2 words
// CHECK-NOT: field
extern "C" void Indexed(long* p, int i) {
  p[i] = 1;
  Sink(p);
}

// volatile may be a device.
// CHECK-LABEL: Volatile: 1 words
// CHECK-NOT: field
extern "C" void Volatile(volatile int* p) { *p += 1; Sink(nullptr); }
