#!/usr/bin/env python3
"""The inputs of corpus.tsv, all in one folder: those that are files beside this script, and those that it makes.

  tests/real/corpus/make_inputs.py OUTDIR

What is short text is a file. What is nested, binary, or has a frame around it is made.
"""

import pathlib
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent

VVP_HEAD = """:ivl_version "11.0 (stable)";
:vpi_time_precision + 0;
:vpi_module "system";
S_0 .scope module, "m" "m" 1 1;
 .timescale 0 0;
"""
VVP_TAIL = ':file_names 2;\n "N/A";\n "x";\n'


def vvp(declarations, *operations):
    """A compiled design of one thread."""
    thread = ["    .scope S_0;", "T_0 ;", *(f"    {operation};" for operation in operations), "    %end;",
              "    .thread T_0;", ""] if operations else []
    return (VVP_HEAD + declarations + "\n".join(thread) + VVP_TAIL).encode()


def leb128(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def section(kind, content):
    return bytes([kind]) + leb128(len(content)) + content


def wasm(*sections):
    """A module whose first type is () -> ()."""
    return b"\0asm\1\0\0\0" + b"".join(sections)


def function(*code):
    """The code section: one function without locals."""
    body = b"\0" + bytes(code) + b"\x0b"
    return section(10, b"\1" + leb128(len(body)) + body)


def id3(*frames):
    """A file that is nothing but an ID3v2 tag; its size has seven bits a byte."""
    size = sum(map(len, frames))
    return b"ID3\3\0\0" + bytes(size >> shift & 127 for shift in (21, 14, 7, 0)) + b"".join(frames)


def compressed(name, content):
    """A frame of a tag: before the compressed content stands how long that was."""
    body = len(content).to_bytes(4, "big") + zlib.compress(content)
    return name + len(body).to_bytes(4, "big") + b"\0\x80" + body


NO_ARGUMENTS = section(1, b"\1\x60\0\0")
ONE_FUNCTION = section(3, b"\1\0")
NOISE = bytes(i * i * 7 // 3 & 255 for i in range(4000))


MADE = {
    # Four bits stored as eight.
    "vvp/store.vvp": vvp('v0 .var "a", 3 0;\n', "%pushi/vec4 1, 0, 4", "%store/vec4 v0, 0, 8"),
    # A vector repeated no times: the check itself divides by zero.
    "vvp/repeat.vvp": vvp('v1 .net "w", 3 0, L_1;\nL_1 .repeat 4, 0, C4<0001>;\n'),
    # A part beyond the vector, of nearly 2^32 bits.
    "vvp/part.vvp": vvp("", "%pushi/vec4 1, 0, 4", "%parti/u 4, 2, 99", "%parti/s 4294967295, 2, 3"),
    # More taken from the stack than there is.
    "vvp/pop.vvp": vvp("", "%pop/vec4 1"),
    # A call from a source file that is not listed: found out by the plugin system.vpi, which asks for its name.
    "vvp/file.vvp": vvp("", '%vpi_call 7 3 "$display", "x" {0 0 0}'),
    # An array of -1 elements: std::vector throws and nobody catches.
    "vvp/array.vvp": vvp('v0 .var/darray "d", 4;\n', "%pushi/vec4 4294967295, 0, 32", "%ix/vec4/s 3",
                         '%new/darray 3, "sb32"', "%store/obj v0"),
    # A vector repeated until its width wraps round: written beyond its end.
    "vvp/wide.vvp": vvp("", "%pushi/vec4 1, 0, 32", "%replicate 2147483647", "%pop/vec4 1"),
    # Taken from a queue that was never made, in a template.
    "vvp/queue.vvp": vvp('v0 .var "a", 3 0;\n', "%qpop/b/v v0, 4"),
    # A property that the class has not.
    "vvp/property.vvp": vvp('C0 .class "C" [1]\n 0: "a", "b32"\n ;\n', "%new/cobj C0", "%prop/v 7", "%pop/vec4 1",
                            "%pop/obj 1, 0"),
    # A table whose row is too short, seen while the design is being read.
    "vvp/table.vvp": vvp('U_0 .udp/comb "x", 2, "0","111";\n'),

    # A branch to the function itself, which has no label.
    "wasm-decompile/branch.wasm": wasm(NO_ARGUMENTS, ONE_FUNCTION, function(0x0C, 0)),
    # A conditional whose arms take an argument from the stack.
    "wasm-decompile/arms.wasm": wasm(section(1, b"\2\x60\0\0\x60\1\x7f\0"), ONE_FUNCTION,
                                     function(0x41, 0, 0x41, 1, 0x04, 1, 0x1A, 0x05, 0x1A, 0x0B)),
    # Data that lie at no address.
    "wasm-decompile/data.wasm": wasm(NO_ARGUMENTS, ONE_FUNCTION, section(5, b"\1\0\1"), function(), section(11, b"\1\0\x0b\1a")),

    # A title that is compressed, as it should be.
    "id3lib/low-tide.mp3": id3(compressed(b"TIT2", b"\0Low Tide")),

    # Deeper than the stack, or than what the parser has room for.
    "cppcheck/longsum.cpp": b"int x=1" + b"+1" * 8000 + b";",
    "jsonnet/deep-array.jsonnet": b"[" * 12000,
    "jsonnet/deep-if.jsonnet": b"if " * 12000,
    "jsonnet/deep-object.jsonnet": b"{a:" * 10000,
    "jsonnet/long-sum.jsonnet": b"1" + b"+1" * 30000,
    "jsonnet/py2.jsonnet": b"std.parseYaml('" + b"[" * 5000 + b"')",
    "minizinc/mzs.mzn": b"int: x = 1" + b"+1" * 20000 + b";",
    "swig/sw28.i": b"#if " + b"(" * 20000 + b"1\n#endif",
    "capnp/brackets.capnp": b"@0xdbb9ad1f14bf0b36;\nconst a :Text = " + b"(" * 20000 + b")" * 20000 + b";\n",

    # Anything that does not compress; what matters is the command line.
    "zpaq/noise.bin": NOISE,
    "zpaq/noise2.bin": NOISE[1:],
}


def files():
    """The inputs that are files: those in the folders beside this script, each named after its program."""
    return [file for file in HERE.glob("*/*") if file.parent.name != "__pycache__"]


def write(folder):
    """All inputs as files in `folder`, under the names that the table has for them."""
    made = MADE | {f"{file.parent.name}/{file.name}": file.read_bytes() for file in files()}
    for name, content in made.items():
        file = pathlib.Path(folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1])
