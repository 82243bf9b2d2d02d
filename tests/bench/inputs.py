"""The inputs that are made by script, always the same: documents of a given size, a large design, a large mesh."""

import random

STATES = ("open", "paid", "sent", "returned")
WORDS = ("anvil", "bridge", "cable", "drum", "engine", "flange", "gasket", "hinge", "inlet", "joint", "kettle", "lever",
         "motor", "nozzle", "piston", "rotor", "shaft", "turbine", "valve", "washer")


def words(chance, count):
    return " ".join(chance.choice(WORDS) for _ in range(count))


def xml(file, size):
    """Orders with items: attributes, entities, comments, CDATA."""
    chance = random.Random(1)
    with file.open("w") as out:
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n<orders>\n')
        number = 0
        while out.tell() < size:
            number += 1
            out.write(f'  <order number="{number}" state="{chance.choice(STATES)}">\n    <!-- {words(chance, 4)} -->\n'
                      f'    <customer id="c{chance.randrange(10 ** 6)}"><name>{words(chance, 2)} &amp; {words(chance, 1)}</name>'
                      f'<note><![CDATA[{words(chance, 6)} <{number}>]]></note></customer>\n')
            for _ in range(chance.randrange(1, 6)):
                out.write(f'    <item kind="{chance.choice(WORDS)}"><quantity>{chance.randrange(1, 100)}</quantity>'
                          f'<price>{chance.randrange(1, 99999) / 100}</price><text>{words(chance, 5)}</text></item>\n')
            out.write("  </order>\n")
        out.write("</orders>\n")


def yaml(file, size):
    """Documents of orders: block and flow style, plain, quoted and folded scalars, anchors."""
    chance = random.Random(2)
    number = 0
    with file.open("w") as out:
        while out.tell() < size:
            out.write(f"shop: &shop {{name: '{words(chance, 2)}', city: {chance.choice(WORDS)}}}\norders:\n")
            for _ in range(200):
                number += 1
                out.write(f"  - number: {number}\n    state: {chance.choice(STATES)}\n    shop: *shop\n"
                          f'    customer: {{id: {chance.randrange(10 ** 6)}, name: "{words(chance, 2)}\\t{number}"}}\n'
                          f"    note: >\n      {words(chance, 6)}\n      {words(chance, 6)}\n    items:\n")
                for _ in range(chance.randrange(1, 5)):
                    out.write(f"      - [{chance.choice(WORDS)}, {chance.randrange(1, 100)}, {chance.randrange(1, 99999) / 100}]\n")
            out.write("...\n")


def verilog(file, modules):
    """A design of many modules that differ: arithmetic, state machines, memories, wired into a chain."""
    chance = random.Random(3)
    with file.open("w") as out:
        for index in range(modules):
            width = chance.choice((8, 13, 16, 24, 32))
            out.write(f"module stage{index}(input clk, input rst, input [31:0] a, input [31:0] b, output reg [31:0] q);\n"
                      f"  reg [2:0] state;\n  reg [{width - 1}:0] acc;\n  reg [31:0] memory [0:15];\n"
                      f"  wire [31:0] mixed = (a ^ {{b[15:0], b[31:16]}}) + 32'd{chance.randrange(1 << 31)};\n"
                      f"  wire [31:0] chosen = mixed[{chance.randrange(32)}] ? memory[b[3:0]] : (a & ~b) | (mixed >> {chance.randrange(1, 9)});\n"
                      "  integer i;\n  always @(posedge clk) begin\n    if (rst) begin\n      state <= 0; acc <= 0; q <= 0;\n"
                      "      for (i = 0; i < 16; i = i + 1) memory[i] <= 0;\n    end else begin\n      case (state)\n")
            for state in range(7):
                operation = chance.choice(("+", "-", "^", "|", "&", "*"))
                out.write(f"        3'd{state}: begin acc <= acc {operation} chosen[{width - 1}:0]; "
                          f"state <= mixed[{chance.randrange(32)}] ? 3'd{chance.randrange(8)} : 3'd{(state + 1) % 8}; "
                          f"q <= {{q[30:0], ^acc}} {chance.choice(('+', '^', '-'))} memory[acc[3:0]]; end\n")
            out.write(f"        default: begin memory[a[3:0]] <= mixed; state <= 0; q <= q + {{{{{32 - width}{{1'b0}}}}, acc}}; end\n"
                      "      endcase\n    end\n  end\nendmodule\n\n")
        out.write("module top(input clk, input rst, input [31:0] in, output [31:0] out);\n")
        out.write("".join(f"  wire [31:0] w{index};\n" for index in range(modules + 1)))
        out.write("  assign w0 = in;\n")
        for index in range(modules):
            out.write(f"  stage{index} s{index}(clk, rst, w{index}, w{chance.randrange(index + 1)}, w{index + 1});\n")
        out.write(f"  assign out = w{modules};\nendmodule\n")


def obj(file, side):
    """A height field of side x side points with normals and texture coordinates, in several materials and groups."""
    chance = random.Random(4)
    with file.open("w") as out:
        for y in range(side):
            for x in range(side):
                out.write(f"v {x / 10} {chance.random():.5f} {y / 10}\nvt {x / side:.5f} {y / side:.5f}\n")
        for y in range(side - 1):
            if y % 16 == 0:
                out.write(f"o strip{y // 16}\ng group{y // 64}\n")
            for x in range(side - 1):
                a, b, c, d = (y * side + x + 1, y * side + x + 2, (y + 1) * side + x + 2, (y + 1) * side + x + 1)
                out.write(f"f {a}/{a} {b}/{b} {c}/{c} {d}/{d}\n")


MAKERS = {
    "large.xml": lambda file: xml(file, 50_000_000),
    "small.xml": lambda file: xml(file, 8_000_000),
    "large.yaml": lambda file: yaml(file, 50_000_000),
    "small.yaml": lambda file: yaml(file, 700_000),
    "large.v": lambda file: verilog(file, 480),
    "small.v": lambda file: verilog(file, 60),
    "large.obj": lambda file: obj(file, 850),
    "small.obj": lambda file: obj(file, 220),
}


def ensure(folder, name):
    """The input's file, made when it is not there."""
    file = folder / name
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        half = file.with_suffix(".half")
        MAKERS[name](half)
        half.rename(file)
    return file
