#!/usr/bin/env python3
"""Prints the descriptors of an ELF file, one line each and one for each of its words.

dump_map.py FILE: reads the section .recrash_map and the symbol table.
"""
import re
import struct
import subprocess
import sys

LOCATIONS = {0: "rdi", 1: "rsi", 2: "rdx", 3: "rcx", 4: "r8", 5: "r9", 6: "r10", 64: "stack", 255: "unknown",
             **{16 + i: f"xmm{i}" for i in range(8)}}

HEADER, NOT_STORED = 20, 0xffff


def fnv(name):
    name = re.sub(r"\.llvm\..*", "", name)
    value = 0xcbf29ce484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main():
    path = sys.argv[1]
    data = None
    for line in run("llvm-readelf", "-SW", path).splitlines():
        found = re.search(r"\] \.recrash_map\s+PROGBITS\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", line)
        if found:
            _, offset, size = (int(text, 16) for text in found.groups())
            with open(path, "rb") as file:
                data = file.read()[offset:offset + size]
    if data is None:
        print("no map")
        return
    functions = []
    for line in run("llvm-nm", "-S", "--defined-only", path).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwWiuV":
            functions.append((int(words[0], 16), int(words[1], 16), words[3]))
    lines = []
    at = 0
    while at < len(data):
        label, function_hash, size, version, count = struct.unpack_from("<QQHBB", data, at)
        assert version == 2 and size % 4 == 0 and size >= HEADER, (at, size)
        name = next((n for start, length, n in functions if start <= label < start + length), "?")
        maker = next((n for _, _, n in functions if fnv(n) == function_hash), "?")
        text = data[at + HEADER + 12 * count:at + size].split(b"\0")[0].decode()
        assert re.fullmatch(r"-?\d*\(%r(sp|bp|bx)\)|", text), text
        entry = [f"{name}{'' if name == maker else ' of ' + maker}: {count} words at {text or 'no place'}"]
        for i in range(count):
            kind, location, parameter, flags, bytes_, record, source, stack = struct.unpack_from(
                "<BBBBHHHH", data, at + HEADER + 12 * i)
            place = {2: "field", 3: "deep"}.get(kind) or LOCATIONS[location] + (f"+{stack}" if location == 64 else "")
            mark = " indirect" * (flags & 1) + " byval" * (flags >> 1 & 1) + " followed" * (flags >> 2 & 1)
            where = "not stored" if record == NOT_STORED else f"at {record}"
            source = f"{stack}->{source}" if kind == 3 else source
            entry.append(f"  {place}: parameter {parameter}+{source}, {bytes_} bytes {where}{mark}")
        lines.append(entry)
        at += size
    for entry in lines:
        print("\n".join(entry))


if __name__ == "__main__":
    main()
