// The words are stored once at the head, at natural width; the descriptor follows them.
// RUN: %clangxx -O2 -g -S -emit-llvm %s -o - | FileCheck %s
// RUN: %clangxx -O2 -g -S %s -o - | FileCheck %s --check-prefix=ASM

int Use(void*, long);
void Wait();

struct Tree {
  int Insert(short key, bool replace);
  int size;
};

// CHECK-LABEL: define {{.*}} @_ZN4Tree6InsertEsb(
// CHECK-SAME: ptr {{[^,]*}} %[[THIS:[0-9a-z]+]], i16 {{[^,]*}} %[[KEY:[0-9a-z]+]], i1 {{[^,]*}} %[[REPLACE:[0-9a-z]+]])
// CHECK: %[[RECORD:[0-9a-z.]+]] = alloca { i64, i64 }, align 8{{$}}
// CHECK: store volatile ptr %[[THIS]], ptr %[[RECORD]], align 8
// CHECK: store volatile i16 %[[KEY]], ptr %{{.*}}, align 8
// CHECK: store volatile i1 %[[REPLACE]], ptr %{{.*}}, align 2
// CHECK: call void asm sideeffect {{.*}}recrash_map{{.*}}"*m"(ptr {{.*}}elementtype({ i64, i64 }){{.*}} %[[RECORD]])
int Tree::Insert(short key, bool replace) {
  const int result = Use(this, key) + (replace ? size : 0);
  Wait();
  return result;
}

// ASM-LABEL: _ZN4Tree6InsertEsb:
// ASM: movq %rdi, [[PLACE:-?[0-9]*\(%rsp\)]]
// ASM: #APP
// ASM-NEXT: [[LABEL:.Lrecrash[0-9]+]]:
// ASM-NEXT: .section .recrash_map,"o",@progbits,[[LABEL]]
// ASM: .quad [[LABEL]]
// ASM: .short .Lrecrash_end{{[0-9]+}}-.Lrecrash_map{{[0-9]+}}
// Version 2, three words.
// ASM-NEXT: .byte 2
// ASM-NEXT: .byte 3
// Argument, rdi, parameter 1, followed; 8 bytes at 0.
// ASM-NEXT: .byte 1
// ASM-NEXT: .byte 0
// ASM-NEXT: .byte 1
// ASM-NEXT: .byte 4
// ASM-NEXT: .short 8
// ASM-NEXT: .short 0
// Argument, rsi, parameter 2; 2 bytes at 8.
// ASM: .byte 1
// ASM-NEXT: .byte 1
// ASM-NEXT: .byte 2
// ASM-NEXT: .byte 4
// ASM-NEXT: .short 2
// ASM-NEXT: .short 8
// Argument, rdx, parameter 3; 1 byte at 10.
// ASM: .byte 1
// ASM-NEXT: .byte 2
// ASM-NEXT: .byte 3
// ASM-NEXT: .byte {{[04]}}
// ASM-NEXT: .short 1
// ASM-NEXT: .short 10
// ASM: .ascii "[[PLACE]]"
// ASM: #NO_APP
