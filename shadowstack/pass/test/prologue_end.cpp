// At -O0 a debugger that stops behind the prologue finds the parameters in their homes: what the pass adds has no line
// before those stores.
// RUN: %clangxx -O0 -g %full -S %s -o - | FileCheck %s
struct S { int a; int f(int b); };
void Sink();
// CHECK-LABEL: _ZN1S1fEi:
// CHECK: movq %rdi, -[[THIS:[0-9]+]](%rbp)
// CHECK: movl %esi, -[[B:[0-9]+]](%rbp)
// CHECK: prologue_end
int S::f(int b) {
  a += b;
  Sink();
  return a;
}
