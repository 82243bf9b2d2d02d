#include "agent/client/watch/testdata/functions.h"

#include <stdarg.h>

extern "C" {

long Integers(long a, int b, short c, char d, unsigned long e, bool f, long on_stack, int more) {
  const long all[] = {a, b, c, d, static_cast<long>(e), f, on_stack, more};
  return Sink(all, sizeof all);
}

double Floats(float a, double b, float c, double d, double e, double f, double g, double h, double on_stack) {
  const double all[] = {a, b, c, d, e, f, g, h, on_stack};
  return static_cast<double>(Sink(all, sizeof all)) + a;
}

long Structs(Small small, Pair pair, Large large, const Large& reference) {
  return Sink(&small, sizeof small) ^ Sink(&pair, sizeof pair) * 3 ^ Sink(&large, sizeof large) * 5 ^
         Sink(&reference, sizeof reference) * 7;
}

long Variadic(const char* format, ...) {
  va_list list;
  va_start(list, format);
  long sum = 0;
  for (; *format; ++format) {
    const double value = *format == 'd' ? va_arg(list, double) : static_cast<double>(va_arg(list, long));
    sum = sum * 31 + Sink(&value, sizeof value);
  }
  va_end(list);
  return sum;
}

long double X87(long double a, int b) { return a * b + static_cast<long double>(Sink(&b, sizeof b)); }

Large Returned(int seed, Small small) {
  Large large = {};
  for (long& word : large.words) word = seed++ * Sink(&small, sizeof small);
  return large;
}

long CallsAtOnce(const void* what, long size) { return Sink(what, size) + 1; }

int SumOf(const int* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

__attribute__((noinline)) int Recursive(int depth, const int* values) {
  if (depth == 0) return values[0];
  return Recursive(depth - 1, values) + values[depth % 4] * 2 + static_cast<int>(Sink(values, 4) & 1);
}

int Throws(int value, const int* values) {
  if (values[value & 3] == value) throw value;
  return values[0];
}
}

// ---- Assembly ------------------------------------------------------------------------------------------------------

#define STRING(x) #x
#define NAMED(x) STRING(x)
// A function as the pass leaves it; `flags` is the last byte of the prefix.
#define ENTRY(name, flags, text)                                                                                \
  asm(".pushsection .text.entries, \"ax\", @progbits\n .p2align 4\n .ascii \"\\017\\013rcent\"\n .byte " #flags \
      "\n .globl " #name "\n .type " #name ", @function\n" #name ":\n .cfi_startproc\n" text                    \
      "\n .cfi_endproc\n .size " #name ", .-" #name "\n .popsection\n")
#define BEGINS(name, text)                 \
  extern "C" long name(long, const long*); \
  ENTRY(name, 0, text)

asm(R"(
  .pushsection .rodata.entries, "a", @progbits
  .p2align 5
entries_data: .quad 11, 22, 33, 44
  .popsection
  .pushsection .data.entries, "aw", @progbits
  .p2align 3
entries_variable: .quad 77
  .popsection
)");

BEGINS(PushShort, "pushq %rbx\n movq %rdi, %rbx\n leaq 1(%rbx), %rax\n popq %rbx\n ret");
BEGINS(PushShortLea,
       "pushq %rbx\n leaq entries_data(%rip), %rbx\n movq 8(%rbx), %rax\n addq %rdi, %rax\n popq %rbx\n ret");
BEGINS(PushLong, "pushq %r15\n movq %rdi, %r15\n leaq 1(%r15), %rax\n popq %r15\n ret");
BEGINS(PushFrame, "pushq %rbp\n movq %rsp, %rbp\n leaq 1(%rdi), %rax\n popq %rbp\n ret");
BEGINS(PushTwice, "pushq %rax\n pushq %rbx\n leaq 2(%rdi), %rax\n popq %rbx\n popq %rcx\n ret");
BEGINS(PushCall, "pushq %rax\n call PushCallTarget\n popq %rcx\n ret");
BEGINS(PushCallTarget, "movq (%rsi), %rax\n addq 8(%rsp), %rax\n subq 8(%rsp), %rax\n addq %rdi, %rax\n ret");
BEGINS(SubStack, "subq $24, %rsp\n movq %rdi, (%rsp)\n movq (%rsp), %rax\n addq $24, %rsp\n ret");
BEGINS(SubStackFar, "subq $4096, %rsp\n movq %rdi, %rax\n addq $4096, %rsp\n ret");
BEGINS(MovRegister, "movq %rdi, %rax\n addq (%rsi), %rax\n ret");
BEGINS(MovShort, "movl %edi, %eax\n cltq\n ret");
BEGINS(MovMemory, "movq 8(%rsi), %rax\n addq %rdi, %rax\n ret");
BEGINS(MovRelative, "movq entries_data+16(%rip), %rax\n addq %rdi, %rax\n ret");
BEGINS(MovRelativeImmediate,
       "movl $5, entries_variable(%rip)\n movslq entries_variable(%rip), %rax\n addq %rdi, %rax\n ret");
BEGINS(MovAbsolute, "movabsq $0x123456789abcdef, %rax\n addq %rdi, %rax\n ret");
BEGINS(MovThread, "movq %fs:0x28, %rax\n xorl %eax, %eax\n addq %rdi, %rax\n ret");
BEGINS(LeaRelative, "leaq entries_data(%rip), %rax\n movq 24(%rax), %rax\n addq %rdi, %rax\n ret");
BEGINS(TestFirst, "testq %rdi, %rdi\n sete %al\n movzbl %al, %eax\n ret");
BEGINS(CompareRelative, "cmpl $11, entries_data(%rip)\n sete %al\n movzbl %al, %eax\n addq %rdi, %rax\n ret");
BEGINS(CompareByteRelative, "cmpb $11, entries_data(%rip)\n sete %al\n movzbl %al, %eax\n addq %rdi, %rax\n ret");
BEGINS(XorFirst, "xorl %eax, %eax\n addq %rdi, %rax\n ret");
BEGINS(ImulFirst, "imulq $1000, %rdi, %rax\n ret");
BEGINS(VectorZero, "xorps %xmm0, %xmm0\n cvttss2si %xmm0, %rax\n addq %rdi, %rax\n ret");
BEGINS(VectorRelative, "movaps entries_data(%rip), %xmm0\n movq %xmm0, %rax\n addq %rdi, %rax\n ret");
BEGINS(VectorInsert, "pinsrq $1, entries_data+8(%rip), %xmm0\n pextrq $1, %xmm0, %rax\n addq %rdi, %rax\n ret");
BEGINS(LandingPad, "endbr64\n pushq %rbx\n movq %rdi, %rbx\n leaq 1(%rbx), %rax\n popq %rbx\n ret");
BEGINS(LandingPadLong, "endbr64\n movq (%rsi), %rax\n addq %rdi, %rax\n ret");
BEGINS(Nop, "xchgw %ax, %ax\n movq %rdi, %rax\n ret");
BEGINS(BackToEntry, "movq %rdi, %rax\n decq %rdi\n testq %rdi, %rdi\n jg BackToEntry\n ret");
BEGINS(LoopBehind,
       "pushq %rbx\n xorl %ebx, %ebx\n1: incq %rbx\n cmpq %rdi, %rbx\n jl 1b\n movq %rbx, %rax\n popq %rbx\n ret");

#define BEGINNING(name) {#name, name}
extern "C" const Beginning kBeginnings[] = {
    BEGINNING(PushShort),
    BEGINNING(PushShortLea),
    BEGINNING(PushLong),
    BEGINNING(PushFrame),
    BEGINNING(PushTwice),
    BEGINNING(PushCall),
    BEGINNING(SubStack),
    BEGINNING(SubStackFar),
    BEGINNING(MovRegister),
    BEGINNING(MovShort),
    BEGINNING(MovMemory),
    BEGINNING(MovRelative),
    BEGINNING(MovRelativeImmediate),
    BEGINNING(MovAbsolute),
    BEGINNING(MovThread),
    BEGINNING(LeaRelative),
    BEGINNING(TestFirst),
    BEGINNING(CompareRelative),
    BEGINNING(CompareByteRelative),
    BEGINNING(XorFirst),
    BEGINNING(ImulFirst),
    BEGINNING(VectorZero),
    BEGINNING(VectorRelative),
    BEGINNING(VectorInsert),
    BEGINNING(LandingPad),
    BEGINNING(LandingPadLong),
    BEGINNING(Nop),
    BEGINNING(BackToEntry),
    BEGINNING(LoopBehind),
};
extern "C" const int kBeginningCount = sizeof kBeginnings / sizeof kBeginnings[0];

ENTRY(ReturnsAtOnce, 0, "ret\n nop");
ENTRY(JumpsAtOnce, 0, "jmp PushShort");
ENTRY(JumpsShort, 0, "jmp 1f\n1: ret");
ENTRY(BranchesAtOnce, 0, "je 1f\n nop\n1: ret");
ENTRY(CallsFirst, 0, "call PushShort\n ret");
ENTRY(CallsIndirectly, 0, "pushq %rax\n call *%rdi\n popq %rax\n ret");
ENTRY(CallsBehindLandingPad, 0, "endbr64\n pushq %rax\n call PushShort\n popq %rax\n ret");
ENTRY(Unknown, 0, "inb $1, %al\n ret");
ENTRY(LoopAtSecond, 0, "pushq %rbx\n1: decq %rdi\n jg 1b\n popq %rbx\n ret");
ENTRY(TableAtSecond, 1, "pushq %rbx\n decq %rdi\n popq %rbx\n ret");
asm(".pushsection .text.entries\n .p2align 4\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n .globl NoPrefix\n "
    ".type NoPrefix, @function\nNoPrefix:\n .cfi_startproc\n pushq %rbx\n movq %rdi, %rax\n popq %rbx\n ret\n "
    ".cfi_endproc\n "
    ".size NoPrefix, .-NoPrefix\n .popsection");

extern "C" const Refused kRefused[] = {
    {"ReturnsAtOnce", "jumps, calls or returns at once"},
    {"JumpsAtOnce", "jumps, calls or returns at once"},
    {"JumpsShort", "jumps, calls or returns at once"},
    {"BranchesAtOnce", "jumps, calls or returns at once"},
    {"CallsFirst", "jumps, calls or returns at once"},
    {"CallsIndirectly", "jumps, calls or returns at once"},
    {"CallsBehindLandingPad", "jumps, calls or returns at once"},
    {"Unknown", "begins with an unknown instruction"},
    {"LoopAtSecond", "branches into its first instructions"},
    {"TableAtSecond", "branches into its first instructions"},
    {"NoPrefix", "not compiled with -recrash-mode=second-chance"},
};
extern "C" const int kRefusedCount = sizeof kRefused / sizeof kRefused[0];

ENTRY(LoadsAtOnce, 0, "movl (%rdi), %eax\n ret");

// Keeps what it finds, and changes no register, so that its caller can compare.
//   0 flags; 8 rax rbx rcx rdx rsi rdi rbp r8..r15 (15 words); 128 stack pointer; 192 xsave area
asm(R"(
  .pushsection .bss.probe, "aw", @nobits
  .p2align 6
probe_found: .zero 8192
probe_saved: .zero 64
  .popsection
)");
ENTRY(RegisterProbe, 0, R"(
  movq %rax, probe_found+8(%rip)
  pushfq
  popq %rax
  movq %rax, probe_found(%rip)
  movq probe_found+8(%rip), %rax
  movq %rbx, probe_found+16(%rip)
  movq %rcx, probe_found+24(%rip)
  movq %rdx, probe_found+32(%rip)
  movq %rsi, probe_found+40(%rip)
  movq %rdi, probe_found+48(%rip)
  movq %rbp, probe_found+56(%rip)
  movq %r8, probe_found+64(%rip)
  movq %r9, probe_found+72(%rip)
  movq %r10, probe_found+80(%rip)
  movq %r11, probe_found+88(%rip)
  movq %r12, probe_found+96(%rip)
  movq %r13, probe_found+104(%rip)
  movq %r14, probe_found+112(%rip)
  movq %r15, probe_found+120(%rip)
  movq %rsp, probe_found+128(%rip)
  movl $0xe7, %eax
  xorl %edx, %edx
  xsave64 probe_found+192(%rip)
  ret
)");

// (in, out): in's words and xsave area are loaded, RegisterProbe called, what it found copied to out.
asm(R"(
  .text
  .globl CallRegisterProbe
  .type CallRegisterProbe, @function
CallRegisterProbe:
  .cfi_startproc
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  pushq %rsi
  .cfi_def_cfa_offset 64
  subq $16, %rsp
  .cfi_def_cfa_offset 80
  stmxcsr (%rsp)
  fnstcw 8(%rsp)
  movl $0xe7, %eax
  xorl %edx, %edx
  xrstor64 192(%rdi)
  pushq (%rdi)
  popfq
  movq 8(%rdi), %rax
  movq 16(%rdi), %rbx
  movq 24(%rdi), %rcx
  movq 32(%rdi), %rdx
  movq 40(%rdi), %rsi
  movq 56(%rdi), %rbp
  movq 64(%rdi), %r8
  movq 72(%rdi), %r9
  movq 80(%rdi), %r10
  movq 88(%rdi), %r11
  movq 96(%rdi), %r12
  movq 104(%rdi), %r13
  movq 112(%rdi), %r14
  movq 120(%rdi), %r15
  movq 48(%rdi), %rdi
  call RegisterProbe
  fninit
  fldcw 8(%rsp)
  ldmxcsr (%rsp)
  movq 16(%rsp), %rdi
  leaq probe_found(%rip), %rsi
  movl $8192, %ecx
  rep movsb
  vzeroupper
  addq $16, %rsp
  .cfi_def_cfa_offset 64
  popq %rsi
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size CallRegisterProbe, .-CallRegisterProbe
)");
