// A call of itself at the end becomes a loop, and the debug records name the loop's values: the parameters are still known.
// RUN: %clangxx -O2 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
struct Node {
  Node* left;
  Node* right;
  int key;
};
void Sink(int);
// CHECK-LABEL: _ZL4WalkP4Nodei: 2 words
// CHECK-NEXT: rdi: parameter 1+0, 8 bytes
// CHECK-NEXT: rsi: parameter 2+0, 4 bytes
static __attribute__((noinline)) void Walk(Node* node, int depth) {
  Sink(node->key + depth);
  if (node->left) Walk(node->left, depth + 1);
  if (node->right) Walk(node->right, depth + 1);
}
void Start(Node* node, int n) { Walk(node, n); }
