// Link-time optimisation: a record inlined elsewhere is told by its hash, and a static function of the same name in two
// units has a record in both.
// RUN: %clangxx -O2 -g -flto=full -DOTHER -c %s -o %t.other.o && %clangxx -O2 -g -flto=full -c %s -o %t.o
// RUN: %plainxx -O2 -flto=full -fuse-ld=lld %t.o %t.other.o -o %t.full && %t.full && %map %t.full | FileCheck %s
// RUN: llvm-readelf -n %t.full | FileCheck %s --check-prefix=NOTE
// RUN: %clangxx -O2 -g -flto=thin -DOTHER -c %s -o %t.other.o && %clangxx -O2 -g -flto=thin -c %s -o %t.o
// RUN: %plainxx -O2 -flto=thin -fuse-ld=lld -Wl,--gc-sections %t.o %t.other.o -o %t.thin && %t.thin && %map %t.thin | FileCheck %s
// RUN: llvm-readelf -n %t.thin | FileCheck %s --check-prefix=NOTE

// One note of the two units.
// NOTE-COUNT-1: recrash {{ *}}0x
// NOTE-NOT: recrash {{ *}}0x

int Inlined(int* p, int n);
__attribute__((noinline)) int Kept(int* p, int n);
#ifdef OTHER
int Inlined(int* p, int n) { return *p / n; }
__attribute__((noinline)) int Kept(int* p, int n) {
  asm volatile("" : "+r"(n) : "m"(*p));  // or what is known of its arguments makes its call a constant
  return *p / n;
}
#else
// CHECK-DAG: main{{.*}}: {{[12]}} words
// CHECK-DAG: _Z4KeptPii: 2 words
// CHECK-DAG: main of ?: 2 words
int main(int argc, char** argv) { return Inlined(&argc, 1) + Kept(&argc, 1) - 2 + argv[0][0] * 0; }
#endif
