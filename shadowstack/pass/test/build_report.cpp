// -recrash-report: what is monitored, what is not and why.
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: %clangxx -O2 -g %full -mllvm -recrash-report=- -mllvm -recrash-list=my.list -c program.cpp -o program.o 2>&1 | FileCheck %s --match-full-lines --strict-whitespace
// RUN: %clangxx -O2 -g %full -mllvm -recrash-report=report.txt -mllvm -recrash-list=my.list -c program.cpp -o program.o 2>&1 | count 0
// RUN: FileCheck %s --match-full-lines --strict-whitespace < report.txt

// In a folder each object has a file, whatever its folder; the folder is made.
// RUN: mkdir -p sub && cp program.cpp sub && %clangxx -mllvm -recrash-report=made/reports/ -c program.cpp -o program.o
// RUN: %clangxx -mllvm -recrash-report=made/reports -c sub/program.cpp -o program.o && ls made/reports | FileCheck %s --check-prefix=FOLDER
// FOLDER: program.cpp.recrash.txt
// FOLDER-NEXT: sub_program.cpp.recrash.txt
// RUN: not %clangxx -mllvm -recrash-report=program.o/x -c program.cpp -o other.o 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: recrash: cannot write the report {{.*}}/program.o/x: Not a directory

// Nothing is kept of arguments in mode second-chance; entries can be patched.
// RUN: %clangxx -O2 -g -mllvm -recrash-mode=second-chance -mllvm -recrash-report=- -c program.cpp -o program.o 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: # program.cpp, mode second-chance: 6 of 9 functions are monitored
// SECOND: monitored{{.}}0{{.}}0{{.}}program.cpp:4{{.}}can fail{{.}}NoArguments

//      CHECK:# program.cpp, mode full: 3 of 9 functions are monitored
// CHECK-NEXT:# state	bytes	depth	place	reason	function
// CHECK-NEXT:monitored	8	1	program.cpp:3	can fail	ns::Adds(int*, int)
// CHECK-NEXT:left out	0	0	program.cpp:4	has no arguments	NoArguments
// CHECK-NEXT:left out	0	0	program.cpp:5	uses none of its arguments	Unused
// CHECK-NEXT:left out	0	0	program.cpp:6	calls nothing and cannot fault	Arithmetic
// CHECK-NEXT:left out	0	0	program.cpp:7	naked	Naked
// CHECK-NEXT:left out	0	0	program.cpp:8	never (my.list:2)	Never
// CHECK-NEXT:monitored	0	1	program.cpp:9	always (annotation)	Always
// CHECK-NEXT:monitored	0	0	program.cpp:11	can fail	Depth(int*)
// CHECK-NEXT:left out	0	0	program.cpp:12	namespace std	std::Std(int*)

//--- my.list
fun:Always=never
fun:Never
fun:Depth=depth=0

//--- program.cpp
int Call(int);
namespace ns {
void Adds(int* p, int n) { *p += Call(n); } }
extern "C" int NoArguments() { return Call(3); }
extern "C" int Unused(int) { return Call(3); }
extern "C" int Arithmetic(int a, int b) { return a * b + 7; }
extern "C" __attribute__((naked)) int Naked(int*) { asm("ret"); }
extern "C" int Never(int* p) { return *p; }
extern "C" [[clang::annotate("recrash::always")]] int Always(int a, int b) { return a * b + 7; }

void Depth(int* p) { *p += Call(1); }
namespace std { int Std(int* p) { return *p; } }
