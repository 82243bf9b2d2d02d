// -recrash-depth=2: also what is used through a field, where the function would fault itself.
// RUN: %clangxx -O2 -g %full -mllvm -recrash-depth=2 -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
// RUN: %clangxx -O2 -g %full -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=ONE
// ONE-NOT: deep
struct Node { int key; Node* next; };
void Unknown(Node*);

// CHECK-LABEL: Deep: 3 words
// CHECK: field: parameter 1+8, 8 bytes
// CHECK-NEXT: deep: parameter 1+8->0, 4 bytes
extern "C" int Deep(Node* n) {
  const int key = n->next->key;
  Unknown(n);
  return key;
}

// Only in a branch: a copy at the head could fault where the function does not.
// CHECK-LABEL: Conditional: 2 words
// CHECK-NOT: deep
extern "C" int Conditional(Node* n) {
  Node* next = n->next;
  Unknown(n);
  return next ? next->key : 0;
}

// Another pointer than at the entry.
// CHECK-LABEL: Replaced: {{[0-9]}} words
// CHECK-NOT: deep
extern "C" int Replaced(Node* n, Node* other) {
  n->next = other;
  const int key = n->next->key;
  Unknown(n);
  return key;
}
