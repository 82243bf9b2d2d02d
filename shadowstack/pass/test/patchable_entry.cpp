// Second chance: eight bytes before the entry, recognised by what they hold, and no instruction more. A function that may
// have a jump table says so, and its first instruction has two bytes; one with a record needs neither.
// RUN: %clangxx -O2 -mllvm -recrash-mode=second-chance -c %s -o %t.o && llvm-objdump -d %t.o | FileCheck %s
// RUN: %clangxx -O2 -mllvm -recrash-mode=second-chance -S %s -o %t.s && FileCheck %s --check-prefix=NORECORD < %t.s
// RUN: %clangxx -O2 -mllvm -recrash-mode=references+second-chance -S %s -o - | FileCheck %s --check-prefix=BOTH
// RUN: %clangxx -O2 -S %s -o - | FileCheck %s --check-prefix=REFERENCES
// Neither a section of addresses nor relocations at start-up, under any linker; collected with their functions.
// RUN: %clangxx -O2 -mllvm -recrash-mode=second-chance -ffunction-sections -c %s -o %t.sections.o
// RUN: %plainxx -shared -fuse-ld=bfd -Wl,--gc-sections %t.sections.o -o %t.bfd && llvm-readelf -SrW %t.bfd | FileCheck %s --check-prefix=LINKED
// RUN: %plainxx -shared -fuse-ld=lld -Wl,--gc-sections %t.sections.o -o %t.lld && llvm-readelf -SrW %t.lld | FileCheck %s --check-prefix=LINKED
// LINKED-NOT: __patchable_function_entries
// LINKED-NOT: Plain
// NORECORD-NOT: recrash_map
// BOTH: .asci{{.*}} "\017\013rcent
// BOTH: recrash_map
// BOTH-LABEL: Switch:
// BOTH-NOT: xchgw
// BOTH: .cfi_endproc
// BOTH-LABEL: NoArguments:
// BOTH-NOT: recrash_map
// BOTH: .cfi_endproc
// REFERENCES-NOT: rcent
extern "C" int Other(int);

// CHECK: 0f 0b
// CHECK-NEXT: 72 63
// CHECK-NEXT: 65 6e
// CHECK-NEXT: 74 00
// CHECK: {{.*}}8 <Plain>:
// CHECK-NEXT: 53 {{.*}}pushq %rbx
extern "C" int Plain(int a) { return Other(a) + a; }

// CHECK: 74 01
// CHECK: {{.*}}8 <Switch>:
// CHECK-NEXT: 66 90
// CHECK-NEXT: 50 {{.*}}pushq %rax
extern "C" int Switch(int a) {
  switch (a) {
    case 1:
      return Other(a) + a;
    case 2:
      return Other(a * 2) * a;
    case 7:
      return Other(a + 9) - a;
    case 4:
      return Other(a * a) - a;
  }
  return 0;
}

// Pointers to member functions need an even address, and whoever asked for more gets it.
// CHECK: cc
// CHECK: 74 00
// CHECK: {{[02468ace]}}0 <Aligned>:
extern "C" __attribute__((aligned(32))) int Aligned(int a) { return Other(a) + a; }

// CHECK: 74 00
// CHECK: {{.*}}8 <NoArguments>:
extern "C" int NoArguments() { return Other(7) + 1; }

// What cannot fail is not worth it.
// CHECK-NOT: 0f 0b
// CHECK: <Trivial>:
extern "C" int Trivial(int a) { return a + 1; }
