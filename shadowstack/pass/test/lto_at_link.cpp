// Link-time optimisation, records made in the link step: by the pass that lld loads, of what was compiled with it, with
// the options, lists and annotations of each compilation.
// DEFINE: %{compile} = %clangxx -O2 -g -mllvm -recrash-lto=link
// DEFINE: %{link} = %plainxx -O2 -fuse-ld=lld -Wl,--load-pass-plugin=%plugin
// RUN: split-file %s %t && cd %t
// RUN: %{compile} -flto=full -mllvm -recrash-report=main.txt -c main.cpp -o main.o
// RUN: %{compile} -flto=full -mllvm -recrash-report=other.txt -mllvm -recrash-list=other.list %full -c other.cpp -o other.o
// RUN: %plainxx -O2 -flto=full -c plain.cpp -o plain.o
// RUN: %{link} -flto=full main.o other.o plain.o -o full && ./full && %map full | FileCheck %s --implicit-check-not=" words"
// RUN: llvm-readelf -n full | FileCheck %s --check-prefix=NOTES && llvm-nm full | FileCheck %s --check-prefix=SYMBOLS
// RUN: FileCheck %s --check-prefix=REPORT < other.txt && FileCheck %s --check-prefix=MAIN < main.txt

// RUN: rm main.txt other.txt
// RUN: %{compile} -flto=thin -mllvm -recrash-report=main.txt -c main.cpp -o main.o
// RUN: %{compile} -flto=thin -mllvm -recrash-report=other.txt -mllvm -recrash-list=other.list %full -c other.cpp -o other.o
// RUN: %plainxx -O2 -flto=thin -c plain.cpp -o plain.o
// RUN: %{link} -flto=thin main.o other.o plain.o -o thin && ./thin && %map thin | FileCheck %s --implicit-check-not=" words"
// RUN: llvm-readelf -n thin | FileCheck %s --check-prefix=NOTES && llvm-nm thin | FileCheck %s --check-prefix=SYMBOLS
// RUN: FileCheck %s --check-prefix=REPORT < other.txt && FileCheck %s --check-prefix=MAIN < main.txt

// A shared library is linked the same way; and without optimisation the compile step makes the records, whatever is
// asked.
// RUN: %{compile} -flto=thin -fPIC -c other.cpp -o pic.o && %{link} -flto=thin -shared pic.o -o libother.so && %map libother.so | FileCheck %s --check-prefix=SHARED
// RUN: %clangxx -flto=thin -O0 -mllvm -recrash-lto=link -c other.cpp -o o0.o && llvm-dis o0.o -o - | FileCheck %s --check-prefix=O0
// SHARED: Kept{{.*}}: {{[0-9]}} words
// O0: recrash_map

// Without the pass in the linker there would be no records and nobody would know: the link fails, and says why.
// RUN: not %plainxx -O2 -flto=thin -fuse-ld=lld main.o other.o plain.o -o bare 2>&1 | FileCheck %s --check-prefix=BARE
// RUN: %plainxx -O2 -flto=full -c plain.cpp -o plain.o && %{compile} -flto=full -c main.cpp -o main.o && %{compile} -flto=full -c other.cpp -o other.o
// RUN: not %plainxx -O2 -flto=full -fuse-ld=lld main.o other.o plain.o -o bare 2>&1 | FileCheck %s --check-prefix=BARE
// BARE: undefined symbol: __recrash_needs_lld_with_load_pass_plugin

// Inlined and gone: no record was made for it. LeftOut and Annotated were not to be monitored, Plain was compiled
// without the pass. Kept has a copy of *p, being compiled in mode full, and main has none.
// CHECK-DAG: {{^}}main{{.*}}: {{[12]}} words
// CHECK-DAG: Kept{{.*}}: 2 words
// CHECK-DAG: Kept{{.*}}: 3 words
// CHECK-DAG: Always{{.*}}: {{[0-9]}} words
// One note of each mode.
// NOTES-COUNT-2: recrash {{ *}}0x
// NOTES-NOT: recrash {{ *}}0x
// SYMBOLS-NOT: __recrash_needs
// SYMBOLS-NOT: __recrash_at_link
// REPORT-DAG: monitored{{.*}}1{{.*}}other.cpp:2{{.*}}can fail{{.*}}Kept
// REPORT-DAG: left out{{.*}}never ({{.*}}other.list:1){{.*}}LeftOut
// REPORT-DAG: left out{{.*}}never (annotation){{.*}}Annotated
// REPORT-DAG: monitored{{.*}}always (annotation){{.*}}Always
// MAIN-NOT: Kept
// MAIN: monitored{{.*}}main
// MAIN-NOT: Kept

//--- other.list
fun:LeftOut

//--- main.cpp
#include "functions.h"
volatile int seen;
int main(int argc, char** argv) {
  const int n = argv[0][0] ? 1 : 2;
  Kept(&argc, n);
  LeftOut(&argc);
  Annotated(&argc);
  Plain(&argc);
  Always(n, -1);
  return Inlined(&argc, n) - seen - argc;
}

//--- functions.h
#define NOINLINE __attribute__((noinline))
extern volatile int seen;
extern "C" {
int Inlined(int* p, int n);
NOINLINE void Kept(int* p, int n);
NOINLINE void LeftOut(int* p);
NOINLINE void Annotated(int* p);
NOINLINE void Always(int a, int b);
NOINLINE void Plain(int* p);
}

//--- other.cpp
#include "functions.h"
void Kept(int* p, int n) { *p += 10 / n; }
int Inlined(int* p, int n) { return *p / n; }
void LeftOut(int* p) { seen = *p; }
[[clang::annotate("recrash::never")]] void Annotated(int* p) { seen = *p; }
[[clang::annotate("recrash::always")]] void Always(int a, int b) { seen = a + b; }

//--- plain.cpp
#include "functions.h"
void Plain(int* p) { seen = *p; }
