// The note says mode and version; units that agree share one, others stand side by side.
// RUN: %clangxx -O1 -mllvm -recrash-version=2.5-rc1 -c %s -o %t.o
// RUN: %clangxx -O1 -mllvm -recrash-version=2.5-rc1 -DOTHER -c %s -o %t.same.o
// RUN: %clangxx -O1 %full -mllvm -recrash-version=2.5-rc1 -DTHIRD -c %s -o %t.full.o
// RUN: %plainxx %t.o %t.same.o -o %t && llvm-readelf -x .note.recrash %t | FileCheck %s --check-prefix=BYTES
// RUN: %plainxx %t.o %t.same.o %t.full.o -o %t && llvm-strings %t | FileCheck %s

// Lengths 8 and 32, type 1, "recrash", the text; one note alone.
// BYTES: 08000000 20000000 01000000 72656372
// BYTES-NEXT: 61736800 6d6f6465 3d
// BYTES-NEXT: 6365733b 76657273
// BYTES-NEXT: {{0x[0-9a-f]+}} 72633100 {{ *}}rc1.
// BYTES-NOT: 0x
// CHECK-DAG: mode=references;version=2.5-rc1
// CHECK-DAG: mode=full;version=2.5-rc1
#if defined(OTHER)
int Other() { return 1; }
#elif defined(THIRD)
int Third() { return 1; }
#else
int main() {}
#endif
