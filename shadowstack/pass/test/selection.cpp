// Which functions have no record, and why.
// RUN: %clangxx -O2 -g -fPIC -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --implicit-check-not=" words"
// RUN: %clangxx -O2 -g -fPIC -mllvm -recrash-std -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=STD

int Call(int);
extern "C" {
// CHECK-LABEL: Calls: 1 words
int Calls(int a) { return Call(a) + 1; }
// CHECK-LABEL: Loads: 1 words
int Loads(int* p) { return *p; }
// CHECK-LABEL: Divides: 2 words
int Divides(int a, int b) { return a / b; }
// An argument that is not used has no word, and the others keep their places.
// CHECK-LABEL: Partly: 1 words
// CHECK-NEXT: rdx: parameter 3
int Partly(int, int, int* p) { return *p; }

// Cannot fail: arithmetic, and memory that is certainly there.
int Arithmetic(int a, int b) { return a * b + 7; }
int counter;
void Counts(int a) { counter = a; }
// Nothing to keep.
int NoArguments() { return Call(3); }
int Unused(int) { return Call(3); }
// Their frame is not the compiler's.
__attribute__((naked)) int Naked(int*) { asm("ret"); }
int __recrash_hook(int* p) { return *p; }
}

// std:: is left out unless asked for, and what is local to it; so are its classes with abbreviated names.
// STD-DAG: _ZSt4testPi: 1 words
// STD-DAG: _ZNSt5Class6methodEi: 2 words
namespace std {
int test(int* p) { return *p; }
struct Class {
  int method(int);
  int x;
};
int Class::method(int i) { return x / i; }
}

// A thunk adjusts `this` and jumps.
struct A { virtual int f(int); int a; };
struct B { virtual int g(int); int b; };
struct C : A, B { int g(int) override; };
// CHECK-LABEL: _ZN1C1gEi: 2 words
int C::g(int i) { return b / i; }
