// Templates and inline functions of two units: one copy of each is linked, with its descriptor and no other.
// RUN: %clangxx -O1 -g -DOTHER -c %s -o %t.other.o
// RUN: %clangxx -O1 -g -c %s -o %t.o
// RUN: llvm-readelf --section-groups %t.o | FileCheck %s --check-prefix=GROUP
// RUN: %plainxx -fuse-ld=bfd %t.o %t.other.o -o %t.bfd && %t.bfd && %map %t.bfd | FileCheck %s --implicit-check-not=Template
// RUN: %plainxx -fuse-ld=lld %t.o %t.other.o -o %t.lld && %t.lld && %map %t.lld | FileCheck %s --implicit-check-not=Template
// RUN: %clangxx -O1 -g -ffunction-sections -c %s -o %t.o
// RUN: %plainxx -fuse-ld=bfd %t.o %t.other.o -o %t.bfd && %t.bfd && %map %t.bfd | FileCheck %s --implicit-check-not=Template

// GROUP: COMDAT group section {{.*}} [_Z8TemplateIiEiPT_S0_]
// GROUP: recrash_map
template <typename T>
__attribute__((noinline)) int Template(T* p, T n) {
  return *p / n;
}
int Other(int* p);
#ifdef OTHER
int Other(int* p) { return Template(p, 2); }
#else
int main(int argc, char**) { return Template(&argc, 1) + Other(&argc) - 1; }
#endif
// CHECK: _Z8TemplateIiEiPT_S0_: 2 words
