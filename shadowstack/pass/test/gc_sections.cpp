// --gc-sections drops a descriptor with its function and keeps it with its function.
// RUN: %clangxx -O1 -g -ffunction-sections -c %s -o %t.o
// RUN: %plainxx -fuse-ld=bfd -Wl,--gc-sections %t.o -o %t.bfd && %map %t.bfd | FileCheck %s --implicit-check-not=Unused
// RUN: %plainxx -fuse-ld=lld -Wl,--gc-sections %t.o -o %t.lld && %map %t.lld | FileCheck %s --implicit-check-not=Unused
// RUN: %plainxx -fuse-ld=lld -static -Wl,--gc-sections %t.o -o %t.static && %map %t.static | FileCheck %s --implicit-check-not=Unused
// RUN: llvm-strip --strip-all-gnu %t.bfd && llvm-readelf -n %t.bfd | FileCheck %s --check-prefix=NOTE
// RUN: llvm-readelf -n %t.lld | FileCheck %s --check-prefix=NOTE
// RUN: %map %t.bfd | FileCheck %s --check-prefix=STRIPPED
__attribute__((noinline)) int Used(int* p) { return *p; }
int Unused(int* p) { return *p + 1; }
// CHECK: _Z4UsedPi: 1 words
// CHECK: main
int main(int argc, char** argv) { return Used(&argc) + argv[0][0] * 0 - 1; }
// NOTE: recrash
// STRIPPED: ?: 1 words
