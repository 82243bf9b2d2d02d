// Mode full: nothing is copied that neither the function nor what it calls may write, as far as the module and the types
// of the source tell.
// RUN: %clangxx -O2 -g %full -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --implicit-check-not=field
struct Node { int key; float weight; Node* next; };
void Unknown(Node*);

// It writes an int of the node, and a float is none.
// CHECK-LABEL: Writes: {{[0-9]}} words
// CHECK: field: parameter 1+0, 4 bytes
extern "C" float Writes(Node* n) {
  n->key += 1;
  return n->weight;
}

// What it calls writes it.
// CHECK-LABEL: Calls: {{[0-9]}} words
// CHECK: field: parameter 1+4, 4 bytes
__attribute__((noinline)) static void Scale(Node* n) {
  for (; n; n = n->next) n->weight *= 2;
}
extern "C" float Calls(Node* n) {
  const float before = n->weight;
  const int key = n->key;
  Scale(n);
  return before + key;
}

// Nobody knows what it calls.
// CHECK-LABEL: CallsUnknown: {{[0-9]}} words
// CHECK: field: parameter 1+0, 4 bytes
// CHECK: field: parameter 1+4, 4 bytes
extern "C" float CallsUnknown(Node* n) {
  const float before = n->weight + n->key;
  Unknown(n);
  return before;
}

// An allocator does not write the program's objects, nor does what never comes back.
[[noreturn]] void Throw(Node*);
// CHECK-LABEL: Allocates: {{[0-9]}} words
extern "C" int* Allocates(Node* n, int limit) {
  const int key = n->key;
  if (key > limit) Throw(n);
  return new int(key);
}
