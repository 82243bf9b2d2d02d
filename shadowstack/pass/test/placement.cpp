// Which arguments are stored, and where: only what dies before the function can fail or wait, and only on paths where
// it does.
// RUN: %clangxx -O2 -g -S -emit-llvm %s -o - | FileCheck %s
// RUN: %clangxx -O2 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s --check-prefix=MAP
// RUN: %clangxx -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=NODEBUG
#include <setjmp.h>
void Sink(...);
int Get(int);
[[noreturn]] void Fail(int*, int);
extern "C" {

// It can only fail itself, with its arguments still in their registers. The descriptor says so, and there is no record.
// CHECK-LABEL: define {{.*}} @Leaf(
// CHECK-NOT: alloca
// CHECK: ret
// MAP-LABEL: Leaf: 2 words at no place
// MAP-NEXT: rdi: parameter 1+0, 8 bytes not stored followed
// MAP-NEXT: rsi: parameter 2+0, 4 bytes not stored followed
// NODEBUG-LABEL: define {{.*}} @Leaf(
// NODEBUG: store volatile ptr %0
// NODEBUG: store volatile i32 %1
int Leaf(int* p, int n) { return *p / n; }

// `p` is used after the call, so the compiler keeps it for itself; `n` is gone by then.
// CHECK-LABEL: define {{.*}} @UsedAfterwards(
// CHECK-NOT: store volatile ptr
// CHECK: store volatile i32 %1
// CHECK-NOT: store volatile
// CHECK: call {{.*}} @_Z3Geti
// MAP-LABEL: UsedAfterwards: 2 words at
// MAP-NEXT: rdi: parameter 1+0, 8 bytes not stored followed
// MAP-NEXT: rsi: parameter 2+0, 4 bytes at 0 followed
int UsedAfterwards(int* p, int n) { return Get(n) + *p; }

// A path that returns at once pays nothing.
// CHECK-LABEL: define {{.*}} @EarlyReturn(
// CHECK-NOT: store volatile
// CHECK: br i1
// CHECK: store volatile ptr %0
// CHECK: call {{.*}} @_Z3Geti
int EarlyReturn(int* p) {
  if (!p) return 0;
  return Get(*p) + 1;
}

// Nor does one that fails seldom.
// CHECK-LABEL: define {{.*}} @ColdPath(
// CHECK-NOT: store volatile
// CHECK: br i1
// CHECK: store volatile ptr %0
// CHECK-NEXT: getelementptr
// CHECK-NEXT: store volatile i32 %1
// CHECK: call void @_Z4FailPii
int ColdPath(int* p, int n) {
  if (n < 0) Fail(p, n);
  return p[1] + n;
}

// Stored once, in front of the loop.
// CHECK-LABEL: define {{.*}} @InLoop(
// CHECK: store volatile ptr %0
// CHECK: call {{.*}} @_Z3Geti
int InLoop(int* p, int n) {
  int sum = *p;
  for (int i = 0; i < n; ++i) sum += Get(i);
  return sum;
}

// A jump leaves no frame behind; one with arguments on the stack is a call.
// CHECK-LABEL: define {{.*}} @TailCall(
// CHECK-NOT: store volatile
// CHECK: ret
int TailCall(int* p, int n) { return Get(*p + n); }

// Another value in the parameter's variable: debug information would give that one.
// CHECK-LABEL: define {{.*}} @Assigned(
// CHECK: store volatile ptr %0
// CHECK-NEXT: call void asm
// MAP-LABEL: Assigned: 1 words at
// MAP-NEXT: rdi: parameter 1+0, 8 bytes at 0{{$}}
long Assigned(const char* text) {
  long count = 0;
  for (; *text; ++text) count += *text == 'x';
  return count;
}

// longjmp comes back with the registers of then.
// CHECK-LABEL: define {{.*}} @Jumps(
// CHECK: store volatile ptr %0
// CHECK-NEXT: call void asm
// MAP-LABEL: Jumps: 1 words at
// MAP-NEXT: rdi: parameter 1+0, 8 bytes at 0{{$}}
int Jumps(jmp_buf* buffer) {
  if (setjmp(*buffer)) return 1;
  Sink(buffer);
  return Get(0) + buffer[0]->__mask_was_saved;
}

// A few bytes are filled by stores.
// CHECK-LABEL: define {{.*}} @SmallFill(
// CHECK-NOT: store volatile
// CHECK: ret
void SmallFill(char* p) { __builtin_memset(p, 0, 40); }
}
