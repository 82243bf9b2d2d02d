; The pass runs by its name in opt, on debug intrinsics of old as well as on records, and only once.
; RUN: %opt -S %s | FileCheck %s
; RUN: opt -load-pass-plugin=%plugin -passes=recrash,recrash -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"
declare void @Sink(ptr)
; CHECK-LABEL: define void @F(ptr %p)
; CHECK: store volatile ptr %p
; CHECK-NOT: store volatile
; CHECK: call void @Sink
define void @F(ptr %p) {
  call void @Sink(ptr %p)
  ret void
}
; swiftself is in no register that a report keeps: its place is not known, nor any after it.
; CHECK-LABEL: define void @G(
; CHECK: .byte 1,255,0,0
; CHECK: .byte 1,255,0,0
define void @G(ptr swiftself %a, ptr %p) {
  call void @Sink(ptr %p)
  call void @Sink(ptr %a)
  ret void
}
; Another convention than C's.
; CHECK-LABEL: define ghccc void @H(
; CHECK-NOT: store
define ghccc void @H(ptr %p) {
  call void @Sink(ptr %p)
  ret void
}
