#!/usr/bin/env python3
"""Compiles a program of random signatures with the pass and lets it check its own records.

random_signatures.py --compiler clang++ --plugin recrash-pass.so --source-dir DIR --work-dir DIR [--seed N] [--count N]
    [-- FLAGS...]
"""
import argparse
import pathlib
import random
import subprocess
import sys

PRELUDE = """
#include <alloca.h>
#include <immintrin.h>
#include <stddef.h>
#include <string.h>
#include "shadowstack/pass/test/random_signatures.h"
using namespace recrash::test;
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float3 __attribute__((ext_vector_type(3)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef short short8 __attribute__((ext_vector_type(8)));
typedef double double2 __attribute__((ext_vector_type(2)));
#ifdef __AVX__
typedef float float8 __attribute__((ext_vector_type(8)));
#endif
enum class Color : short { kRed = -7, kBlue = 0x1234 };
struct Empty {};
struct I1 { int a; };
struct I2 { int a, b; };
struct I3 { int a, b, c; };
struct C3 { char a, b, c; };
struct Mixed { char a; short b; int c; long d; };
struct SC { short a; char b; };
struct F2 { float a, b; };
struct F3 { float a, b, c; };
struct F4 { float a, b, c, d; };
struct D1 { double a; };
struct D2 { double a, b; };
struct IF { int a; float b; };
struct FIF { float a; int b; float c; };
struct DL { double a; long b; };
struct LD_ { long a; double b; };
struct P1 { int* a; };
struct P2 { int* a; int b; };
struct Bits { unsigned a : 5, b : 11, c : 16; };
struct Wide { __int128 a; };
struct L3 { long a, b, c; };
struct L3C { long a, b, c; char d; short e; };
struct L8 { long a, b, c, d, e, f, g, h; };
struct L12 { long a, b, c, d, e, f, g, h, i, j, k, l; };
struct LongDouble { long double a; };
struct alignas(32) Aligned { long a, b; };
struct __attribute__((packed)) Packed { char a; int b; short c; };
struct Nested { I2 a; F2 b; };
struct Big { long a[4]; };
struct Other { long a; int b; };
struct NonTrivial {
  long a;
  double b;
  NonTrivial(long x, double y) : a(x), b(y) {}
  __attribute__((noinline)) NonTrivial(const NonTrivial& o) : a(o.a), b(o.b) {}
  __attribute__((noinline)) ~NonTrivial() { asm volatile(""); }
};
struct __attribute__((trivial_abi)) Handle {
  int* a;
  explicit Handle(int* x) : a(x) {}
  Handle(const Handle& o) : a(o.a) {}
  ~Handle() {}
};
struct Member { int x; long f(int) { return x; } long g(int) { return x + 1; } };
int target_int[64];
Other target_other[8];
"""


class Kind:
    """A parameter type: how a value of it is written, which expressions of it the callee compares, and its padding."""

    def __init__(self, name, value, parts=("",), fields=None, by_address=False, uncallable=False, ctor=False,
                 reference=False, meaningful=None, bulky=False, untraced=False):
        self.name = name
        self.value = value
        self.parts = parts
        self.fields = fields
        self.by_address = by_address
        self.uncallable = uncallable
        self.ctor = ctor
        self.reference = reference
        self.meaningful = meaningful
        self.untraced = untraced  # clang's debug records lose it at -O2
        self.bulky = bulky  # too large for words: it lies in the saved stack


def integer(bits, signed):
    def value(r):
        n = r.getrandbits(bits)
        if signed and n >> (bits - 1):
            n -= 1 << bits
        if bits == 128:
            n &= (1 << 127) - 1
            return f"((__int128)0x{n >> 64:x}ull << 64 | 0x{n & (1 << 64) - 1:x}ull)"
        if signed and n == -(1 << (bits - 1)):
            n += 1
        return f"{n}{'' if signed else 'u'}{'ll' if bits == 64 else ''}"
    return value


def real(r):
    return repr(round(r.uniform(-1e6, 1e6), 3))


def small_real(r):
    return repr(r.randint(-2000, 2000) / 2)


def struct(name, members, **more):
    """members: "a:int b:float" with the generators' names."""
    makers = {"i8": lambda r: str(r.randint(-128, 127)), "i16": lambda r: str(r.randint(-32768, 32767)),
              "i32": integer(32, True), "i64": integer(64, True), "f": real, "i128": integer(128, True),
              "p": lambda r: f"&target_int[{r.randint(0, 63)}]", "u5": lambda r: str(r.randint(0, 31)),
              "u11": lambda r: str(r.randint(0, 2047)), "u16": lambda r: str(r.randint(0, 65535))}
    pairs = [m.split(":") for m in members.split()]
    parts = tuple("." + n for n, _ in pairs)
    if "fields" not in more:
        more["fields"] = [n for n, _ in pairs]
    return Kind(name, lambda r: "{" + ", ".join(makers[k](r) for _, k in pairs) + "}", parts, **more)


def vector(name, lanes, maker, **more):
    return Kind(name, lambda r: "{" + ", ".join(maker(r) for _ in range(lanes)) + "}",
                tuple(f"[{i}]" for i in range(lanes)), **more)


LONGS = "a:i64 b:i64 c:i64 d:i64 e:i64 f:i64 g:i64 h:i64"
KINDS = [
    Kind("bool", lambda r: r.choice(["true", "false"])),
    Kind("char", lambda r: str(r.randint(-128, 127))),
    Kind("unsigned char", lambda r: str(r.randint(0, 255))),
    Kind("short", lambda r: str(r.randint(-32768, 32767))),
    Kind("unsigned short", lambda r: str(r.randint(0, 65535))),
    Kind("int", integer(32, True)), Kind("int", integer(32, True)), Kind("const int", integer(32, True)),
    Kind("unsigned", integer(32, False)), Kind("long", integer(64, True)), Kind("unsigned long", integer(64, False)),
    Kind("__int128", integer(128, True)), Kind("unsigned __int128", integer(128, True)),
    Kind("char16_t", lambda r: str(r.randint(0, 65535))), Kind("wchar_t", integer(31, False)),
    Kind("Color", lambda r: r.choice(["Color::kRed", "Color::kBlue"])),
    Kind("float", real), Kind("double", real), Kind("double", real), Kind("_Float16", small_real),
    Kind("long double", real, meaningful=10), Kind("__float128", real),
    Kind("int*", lambda r: f"&target_int[{r.randint(0, 63)}]"),
    Kind("const Other*", lambda r: f"&target_other[{r.randint(0, 7)}]"),
    Kind("void*", lambda r: f"(void*)0x{r.getrandbits(40):x}"),
    Kind("Other&", lambda r: "{5, 6}", reference=True), Kind("const Other&", lambda r: "{7, 8}", reference=True),
    Kind("Other&&", lambda r: "{9, 10}", reference=True), Kind("const int&", integer(32, True), reference=True),
    Kind("int Member::*", lambda r: "&Member::x"),
    Kind("Signature", lambda r: r.choice(["&Member::f", "&Member::g"])),
    Kind("Empty", lambda r: "{}", parts=(), fields=[]),
    struct("I1", "a:i32"), struct("I2", "a:i32 b:i32"), struct("I3", "a:i32 b:i32 c:i32"), struct("C3", "a:i8 b:i8 c:i8"),
    struct("Mixed", "a:i8 b:i16 c:i32 d:i64"), struct("SC", "a:i16 b:i8"), struct("F2", "a:f b:f"),
    struct("F3", "a:f b:f c:f"), struct("F4", "a:f b:f c:f d:f"), struct("D1", "a:f"), struct("D2", "a:f b:f"),
    struct("IF", "a:i32 b:f"), struct("FIF", "a:f b:i32 c:f"), struct("DL", "a:f b:i64"), struct("LD_", "a:i64 b:f"),
    struct("P1", "a:p"), struct("P2", "a:p b:i32"), struct("Bits", "a:u5 b:u11 c:u16", fields=None),
    struct("Wide", "a:i128"), struct("L3", "a:i64 b:i64 c:i64"), struct("L3C", "a:i64 b:i64 c:i64 d:i8 e:i16"),
    struct("L8", LONGS), struct("L12", LONGS + " i:i64 j:i64 k:i64 l:i64", uncallable=True, bulky=True),
    Kind("LongDouble", lambda r: "{" + real(r) + "}", (".a",), meaningful=10),
    struct("Aligned", "a:i64 b:i64"), struct("Packed", "a:i8 b:i32 c:i16"),
    Kind("Nested", lambda r: f"{{{{{r.randint(0, 999)}, {r.randint(0, 999)}}}, {{{real(r)}, {real(r)}}}}}",
         (".a.a", ".a.b", ".b.a", ".b.b")),
    Kind("NonTrivial", lambda r: f"({r.randint(0, 9999)}, {real(r)})", (".a", ".b"), by_address=True, ctor=True),
    Kind("Handle", lambda r: f"(&target_int[{r.randint(0, 63)}])", (".a",), ctor=True),
    Kind("_Complex double", lambda r: "{" + real(r) + ", " + real(r) + "}"),
    Kind("_Complex float", lambda r: "{" + real(r) + ", " + real(r) + "}"),
    vector("float2", 2, real), vector("float3", 3, real, meaningful=12, untraced=True), vector("int2", 2, integer(32, True)),
    vector("int4", 4, integer(32, True)), vector("short8", 8, lambda r: str(r.randint(-999, 999))),
    vector("double2", 2, real),
]
AVX_KINDS = [vector("float8", 8, real, uncallable=True)]
TYPEDEFS = "typedef long (Member::*Signature)(int);\n"


def value_type(kind):
    """The type of the global that holds the value."""
    name = kind.name
    if kind.reference:
        name = name.rstrip("&").strip()
    return name.removeprefix("const ") if not name.endswith("*") else name


class Function:
    def __init__(self, r, index, kinds):
        self.index = index
        self.shape = r.choice(["free", "free", "free", "internal", "internal", "method", "const method", "virtual",
                               "static method", "template", "variadic"])
        self.kinds = [r.choice(kinds) for _ in range(r.choice([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16]))]
        self.values = [k.value(r) for k in self.kinds]
        self.used = [k.parts != () and r.random() < 0.85 for k in self.kinds]
        self.returns = r.choice(["int", "int", "void", "double", "Big"])
        self.frame = r.choice(["", "", "", "char* dynamic = (char*)alloca(target_int[0] + 24); asm volatile(\"\" :: "
                               "\"r\"(dynamic) : \"memory\");",
                               "alignas(64) char aligned[64]; asm volatile(\"\" :: \"r\"(aligned) : \"memory\");"])
        self.name = f"f{index}"

    def globals(self):
        lines = []
        for j, (kind, value) in enumerate(zip(self.kinds, self.values)):
            initial = value if kind.ctor else f" = {value}"
            lines.append(f"{value_type(kind)} x{self.index}_{j}{initial};")
            if kind.reference:
                lines.append(f"const void* p{self.index}_{j} = &x{self.index}_{j};")
        return lines

    def is_method(self):
        return self.shape in ("method", "const method", "virtual")

    def declaration_parameters(self):
        text = []
        for j, kind in enumerate(self.kinds):
            text.append(f"{kind.name} a{j}")
        if self.shape == "variadic":
            text.append("...")
        return ", ".join(text)

    def body(self):
        first = 2 if self.is_method() else 1
        lines = [f"  {self.frame}"] if self.frame else []
        if self.is_method():
            lines.append(f"  if (this != &object{self.index} || tag != {self.index}) Differs(1);")
        for j, kind in enumerate(self.kinds):
            if not self.used[j]:
                continue
            x = f"x{self.index}_{j}"
            if kind.reference:
                lines.append(f"  if (&a{j} != &{x}) Differs({j + first});")
                if kind.name in ("Other&", "Other&&"):  # fields used, for mode full
                    lines.append(f"  if (a{j}.a != {x}.a) Differs({j + first});")
                    lines.append(f"  a{j}.b ^= target_int[7];")
            else:
                for part in kind.parts:
                    lines.append(f"  if (!(a{j}{part} == {x}{part})) Differs({j + first});")
        lines.append("  Probe();\n  asm volatile(\"\");")  # else a result that nobody uses makes it a tail call
        lines.append({"int": f"  return target_int[1] + {self.index};", "void": "  asm volatile(\"\");",
                      "double": "  return target_int[2];",
                      "Big": "  Big big = {}; big.a[1] = target_int[3]; return big;"}[self.returns])
        return "{\n" + "\n".join(lines) + "\n}"

    def definition(self):
        attributes = "__attribute__((noinline)) "
        if self.is_method() or self.shape == "static method":
            prefix = {"virtual": "virtual ", "static method": "static "}.get(self.shape, "")
            suffix = " const" if self.shape == "const method" else ""
            extra = "virtual ~K%d() {}" % self.index if self.shape == "virtual" else ""
            cls = f"K{self.index}"
            head = f"{self.returns} {cls}::m({self.declaration_parameters()}){suffix}"
            return (f"struct {cls} {{ long tag = {self.index}; {extra} {attributes}{prefix}{self.returns} "
                    f"m({self.declaration_parameters()}){suffix}; }};\n{cls} object{self.index};\n{head} {self.body()}")
        prefix = {"internal": "static ", "template": "template <int N> "}.get(self.shape, "")
        return f"{prefix}{attributes}{self.returns} {self.name}({self.declaration_parameters()}) {self.body()}"

    def runner(self):
        i = self.index
        name = f"K{i}::m" if self.is_method() or self.shape == "static method" else self.name
        lines = [f"static void run{i}() {{"]
        lines.append(f"  Begin(\"{name} ({self.shape})\", {'true' if self.shape == 'internal' else 'false'}, "
                     f"{'true' if self.returns == 'Big' else 'false'});")
        if self.is_method():
            lines.append(f"  const void* receiver = &object{i};")
            lines.append("  Passes(&receiver, sizeof(receiver), kUsed);")
        arguments = []
        for j, kind in enumerate(self.kinds):
            x = f"x{i}_{j}"
            flags = "kUsed" if self.used[j] and not kind.bulky else "0"
            if kind.untraced:
                flags += " | kMayBeUntraced"
            if kind.by_address:
                flags += " | kPassedByAddress"
            held = f"p{i}_{j}" if kind.reference else x
            lines.append(f"  Passes(&{held}, sizeof({held}), {flags});")
            if kind.meaningful:
                lines.append(f"  MeaningfulBytes(0, {kind.meaningful});")
            elif kind.fields:
                for field in kind.fields:
                    lines.append(f"  MeaningfulBytes(offsetof({kind.name}, {field}), sizeof({kind.name}::{field}));")
            elif kind.fields == []:
                lines.append("  MeaningfulBytes(0, 0);")
            if kind.uncallable:
                lines.append("  CannotBeCalledAgain();")
            arguments.append(f"static_cast<{kind.name}>({x})" if kind.name.endswith("&&") else x)
        if self.shape == "variadic":
            arguments += ["7", "2.5"]
        call = {"method": f"object{i}.m", "const method": f"object{i}.m", "static method": f"K{i}::m",
                "virtual": f"object{i}.m", "template": f"{self.name}<{i}>"}.get(self.shape, self.name)
        lines.append(f"  {call}({', '.join(arguments)});")
        lines.append("  End();\n}")
        return "\n".join(lines)


def program(seed, count, avx):
    r = random.Random(seed)
    kinds = KINDS + (AVX_KINDS if avx else [])
    functions = [Function(r, i, kinds) for i in range(count)]
    parts = [PRELUDE, TYPEDEFS]
    for f in functions:
        parts += f.globals()
        parts.append(f.definition())
        parts.append(f.runner())
    parts.append("int main(int, char** arguments) {")
    parts += [f"  run{f.index}();" for f in functions]
    parts.append("  return Finish(!strcmp(arguments[1], \"full\"));\n}")
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--work-dir", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", default="references")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("flags", nargs="*")
    options = parser.parse_args()

    avx = any(f.startswith("-mavx") for f in options.flags)
    if avx and " avx " not in pathlib.Path("/proc/cpuinfo").read_text().replace("\n", " "):
        print("this machine has no AVX: nothing to check")
        return 0
    work = pathlib.Path(options.work_dir)
    work.mkdir(parents=True, exist_ok=True)
    source = work / "program.cpp"
    source.write_text(program(options.seed, options.count, avx))
    checker = pathlib.Path(options.source_dir) / "shadowstack/pass/test/random_signatures.cc"
    common = [options.compiler, "-std=c++17", "-I", options.source_dir, *options.flags]
    plugin = [f"-fplugin={options.plugin}", f"-fpass-plugin={options.plugin}", "-mllvm",
              f"-recrash-mode={options.mode}"]
    subprocess.run([*common, *plugin, "-c", source, "-o", work / "program.o"], check=True)
    subprocess.run([options.compiler, "-std=c++17", "-I", options.source_dir, "-O1", "-c", checker, "-o",
                    work / "checker.o"], check=True)
    position = ["-no-pie"] if "-fno-pie" in options.flags else []
    subprocess.run([*common, *position, work / "program.o", work / "checker.o", "-rdynamic", "-lm", "-o", work / "program"],
                   check=True)
    return subprocess.run([work / "program", options.mode]).returncode


if __name__ == "__main__":
    sys.exit(main())
