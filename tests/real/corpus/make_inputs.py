#!/usr/bin/env python3
"""The inputs of corpus.tsv, written out: each the least that was left when everything that the crash can do without was
taken away. All are made up here; nothing is taken from the programs' own samples.

  tests/real/corpus/make_inputs.py OUTDIR
"""

import pathlib
import sys

# ivl takes its options (-C) from lines of a file that a comment of Verilog's can hold, so one file is both.
VERILOG = "/*\ngeneration:2012\n*/\n"

VVP_HEAD = """:ivl_version "11.0 (stable)";
:vpi_time_precision + 0;
:vpi_module "system";
S_0 .scope module, "m" "m" 1 1;
 .timescale 0 0;
"""
VVP_TAIL = ':file_names 2;\n "N/A";\n "x";\n'


def verilog(text):
    return (VERILOG + text + "\n").encode()


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


NO_ARGUMENTS = section(1, b"\1\x60\0\0")
ONE_FUNCTION = section(3, b"\1\0")
NOISE = bytes(i * i * 7 // 3 & 255 for i in range(4000))

INPUTS = {
    # An assignment pattern where the old way of elaborating expressions is taken.
    "pattern.v": verilog("module m; struct packed {logic [3:0] x; logic y;} s; initial s = '{1, 0}; endmodule"),
    # `new` without a class to make.
    "new.v": verilog("module m; int d[]; initial d = new; endmodule"),
    # A constant that a name of another module is part of.
    "port.v": verilog("module m; wire z; n a[0:0](z.q); endmodule\nmodule n(input q); endmodule"),
    # Part of a queue as the left side.
    "queue.v": verilog("module m; int q[$]; initial q[3:0] = 1; endmodule"),
    # A member of one of several structures.
    "members.v": verilog("module m; struct packed {logic x;} s [3:0]; wire z = s[0].x; endmodule"),
    # A method with too few arguments.
    "substr.v": verilog("module m; string s; initial s = s.substr(1); endmodule"),
    # A range that ends where 32 bits do.
    "range.v": verilog("module m(input a, input b); wire [1:2147483648] D = {a, b}; endmodule"),
    # An interface's item in a module.
    "modport.v": verilog("module m; int a; modport mp(input a); endmodule"),
    # A function that starts while another is still open after a syntax error: the failure of a parser's state.
    "class.v": verilog("class C; function new(int x have; a=x; endfunction "
                       "function int get(); return 1; endfunction endclass"),
    # A row with too many columns, seen from the parser.
    "udp.v": verilog("primitive u(q,a); output q; input a; table 0 0 : 0; endtable endprimitive"),
    # A constant function that calls itself for ever.
    "recursion.v": verilog("module m; function integer f(input integer n); f = f(n-1); endfunction\n"
                           "localparam F = f(3); endmodule"),

    # Four bits stored as eight.
    "store.vvp": vvp('v0 .var "a", 3 0;\n', "%pushi/vec4 1, 0, 4", "%store/vec4 v0, 0, 8"),
    # A vector repeated no times: the check itself divides by zero.
    "repeat.vvp": vvp('v1 .net "w", 3 0, L_1;\nL_1 .repeat 4, 0, C4<0001>;\n'),
    # A part beyond the vector, of nearly 2^32 bits.
    "part.vvp": vvp("", "%pushi/vec4 1, 0, 4", "%parti/u 4, 2, 99", "%parti/s 4294967295, 2, 3"),
    # More taken from the stack than there is.
    "pop.vvp": vvp("", "%pop/vec4 1"),
    # A call from a source file that is not listed: found out by the plugin system.vpi, which asks for its name.
    "file.vvp": vvp("", '%vpi_call 7 3 "$display", "x" {0 0 0}'),
    # An array of -1 elements: std::vector throws and nobody catches.
    "array.vvp": vvp('v0 .var/darray "d", 4;\n', "%pushi/vec4 4294967295, 0, 32", "%ix/vec4/s 3",
                     '%new/darray 3, "sb32"', "%store/obj v0"),
    # A vector repeated until its width wraps round: written beyond its end.
    "wide.vvp": vvp("", "%pushi/vec4 1, 0, 32", "%replicate 2147483647", "%pop/vec4 1"),
    # Taken from a queue that was never made, in a template.
    "queue.vvp": vvp('v0 .var "a", 3 0;\n', "%qpop/b/v v0, 4"),
    # A property that the class has not.
    "property.vvp": vvp('C0 .class "C" [1]\n 0: "a", "b32"\n ;\n', "%new/cobj C0", "%prop/v 7", "%pop/vec4 1",
                        "%pop/obj 1, 0"),
    # A table whose row is too short, seen while the design is being read.
    "table.vvp": vvp('U_0 .udp/comb "x", 2, "0","111";\n'),

    # A branch to the function itself, which has no label.
    "branch.wasm": wasm(NO_ARGUMENTS, ONE_FUNCTION, function(0x0C, 0)),
    # A conditional whose arms take an argument from the stack.
    "arms.wasm": wasm(section(1, b"\2\x60\0\0\x60\1\x7f\0"), ONE_FUNCTION,
                      function(0x41, 0, 0x41, 1, 0x04, 1, 0x1A, 0x05, 0x1A, 0x0B)),
    # Data that lie at no address.
    "data.wasm": wasm(NO_ARGUMENTS, ONE_FUNCTION, section(5, b"\1\0\1"), function(), section(11, b"\1\0\x0b\1a")),
    # An element where nothing is between the brackets.
    "element.wat": b"(module (elem funcref ()))\n",

    # A dashed ellipse of no size, in pic's language.
    "ellipse.pic": b".PS\nellipse wid 0 ht 0 dashed 0.1\n.PE\n",
    # A second format that is wrong: the first is then freed twice.
    "format.tbl": b".TS\nl.\n.T&\ns.\nx\n.TE\n",
    # An entry spanned from a row that is not there.
    "span.tbl": b".TS\nl s\nl l.\n\\^\t\n.TE\n",

    # Brackets, deeper than the stack.
    "brackets.capnp": b"@0xdbb9ad1f14bf0b36;\nconst a :Text = " + b"(" * 20000 + b")" * 20000 + b";\n",

    # Anything that does not compress; what matters is the command line.
    "noise.bin": NOISE,
    "noise2.bin": NOISE[1:],

    # Sequences of which nothing is left when the gaps are taken out.
    "gaps.aln": b"CLUSTAL\na -\nb -\n",
    # A gap at the end makes one sequence shorter than the other, and nothing is left of their alignment.
    "short.msf": b"MSF\n//\na L\nb V.\n",
    # One sequence longer than the other.
    "uneven.msf": b"PileUp\n Name: a\n Name: b\n//\na MK\nb M\n",
}


def write(folder):
    """All inputs as files in `folder`."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in INPUTS.items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1])
