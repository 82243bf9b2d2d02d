// -recrash-list: which functions, by name, source file and class; of the lines that match the last one decides.
// RUN: split-file %s %t
// RUN: %clangxx -O2 -g -fPIC -mllvm -recrash-list=%t/names.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=NAMES --implicit-check-not=" words"
// Without debug information the names are all the same: they come from the mangled ones.
// RUN: %clangxx -O2 -fPIC -mllvm -recrash-list=%t/names.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=NAMES --implicit-check-not=" words"
// NAMES-DAG: _ZN2ns5Class4KeptEi: 2 words
// NAMES-DAG: _ZN2ns4FreeEPi: 1 words
// NAMES-DAG: InHeader: 1 words
// NAMES-DAG: Trivial: 2 words
// NAMES-DAG: _ZSt8InStdAskPi: 1 words

// The source file is the one that the function stands in, as written or in full; without debug information the one that
// is compiled.
// RUN: cd %t && %clangxx -O2 -g -fPIC -mllvm -recrash-list=%t/sources.list -c program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=SOURCES --implicit-check-not=" words"
// SOURCES: InHeader: 1 words
// RUN: %clangxx -O2 -fPIC -mllvm -recrash-list=%t/sources.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=NONE
// NONE: no map

// Several lists, one behind another; regular expressions as in lists of the first version; other tools' sections.
// RUN: %clangxx -O2 -g -fPIC -mllvm -recrash-list=%t/sources.list -mllvm -recrash-list=%t/second.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=SECOND --implicit-check-not=" words"
// SECOND-DAG: _ZN2ns4FreeEPi: 1 words
// SECOND-DAG: _ZN2ns4FreeEi: 1 words
// SECOND-DAG: InHeader: 1 words

// What cannot have a record has none, whatever the list says.
// RUN: %clangxx -O2 -g -fPIC -mllvm -recrash-list=%t/all.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=ALL
// ALL-NOT: Naked
// ALL: Trivial: 2 words
// ALL-NOT: Naked

// The depth of the copies in mode full, for each function.
// RUN: %clangxx -O2 -fPIC %full -mllvm -recrash-list=%t/depth.list -c %t/program.cpp -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=DEPTH
// DEPTH-DAG: _ZN2ns5Class7CountsAEi: 2 words
// DEPTH-DAG: _ZN2ns5Class7CountsBEi: 3 words

//--- names.list
# Lines of no section and of [recrash] are ours.
fun:_ZN2ns5Class*
fun:*Leaves*
fun:ns::Class::Kept=always
fun:ns::Free(int)
[address]
gibberish that is not for us
global:*
fun:*
[recrash]
type:ns::Class=never
fun:ns::Class::Kept=always
fun:Trivial=always
fun:std::InStdAsk=always

//--- sources.list
[rec*]
src:program.cpp
src:*/program.cpp

//--- second.list
#!special-case-list-v1
[recrash|address]
fun:_ZN2ns4Free.*=always

//--- all.list
fun:*=always

//--- depth.list
[recrash]
fun:*Counts*=depth=0
fun:ns::Class::CountsB=depth=1

//--- header.h
extern "C" inline __attribute__((used, noinline)) int InHeader(int* p) { return *p; }

//--- program.cpp
#include "header.h"
int Call(int);
namespace ns {
struct Class {
  int count;
  int Kept(int n);
  int LeftOut(int n);
  void CountsA(int n);
  void CountsB(int n);
  struct Inner {
    int x;
    int Method(int);
  };
};
int Class::Kept(int n) { return count / n; }
int Class::LeftOut(int n) { return count / n; }
void Class::CountsA(int n) { count += Call(n); }
void Class::CountsB(int n) { count += Call(n); }
int Free(int* p) { return *p; }
int Free(int n) { return Call(n); }
}
extern "C" int Leaves(int n) { return Call(n); }
extern "C" int Trivial(int a, int b) { return a * b; }
extern "C" __attribute__((naked)) int Naked(int*) { asm("ret"); }
namespace std {
int InStd(int* p) { return *p; }
int InStdAsk(int* p) { return *p; }
}
