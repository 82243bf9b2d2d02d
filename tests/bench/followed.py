#!/usr/bin/python3
"""How often debug information has what the map leaves to it: for each word of .recrash_map that is followed and not stored, and
each instruction of its function that calls or touches memory, whether the parameter has a location there.

  tests/bench/followed.py PROGRAM…      built with -g, not stripped (needs Debian's python3-pyelftools)

"register or memory": its value is at hand. "caller": only what the caller's call site says, which a reader has more seldom.
"""

import bisect
import collections
import re
import struct
import subprocess
import sys

from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.locationlists import BaseAddressEntry, LocationParser
from elftools.elf.elffile import ELFFile

HEADER, WORD, ARGUMENT, FOLLOWED, NOT_STORED = 20, 12, 1, 4, 0xffff
PRESERVED = {3, 6, 7, 12, 13, 14, 15}  # rbx, rbp, rsp, r12 to r15


def followed_words(section):
    """By label, the parameters whose words are followed and not stored."""
    found, at = {}, 0
    while at + HEADER <= len(section):
        label, _, size, _, count = struct.unpack_from("<QQHBB", section, at)
        if size == 0:
            break
        words = [struct.unpack_from("<BBBBHH", section, at + HEADER + WORD * i) for i in range(count)]
        found[label] = {parameter for kind, _, parameter, flags, _, offset in words
                        if kind == ARGUMENT and flags & FOLLOWED and offset == NOT_STORED}
        at += size
    return found


def instructions(path):
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [(int(found[1], 16), found[2]) for line in out.splitlines() if (found := re.match(r"\s+([0-9a-f]+):\t(\S.*)", line))]


def origin(die, name):
    return die.get_DIE_from_attribute(name) if name in die.attributes else None


def parameters(function):
    """By their number in the source."""
    own = [child for child in function.iter_children() if child.tag == "DW_TAG_formal_parameter"]
    source = origin(function, "DW_AT_abstract_origin")
    if source is None:
        return dict(enumerate(own, 1))
    order = [child.offset for child in source.iter_children() if child.tag == "DW_TAG_formal_parameter"]
    known = {offset: number for number, offset in enumerate(order, 1)}
    return {known[where.offset]: die for die in own
            if (where := origin(die, "DW_AT_abstract_origin")) is not None and where.offset in known}


class Places:
    """Where one parameter is, by address."""

    def __init__(self, die, unit, lists, low, high, base):
        self.parser, self.ranges = DWARFExprParser(unit.structs), []
        if die is None or "DW_AT_location" not in die.attributes:
            return
        location = lists.parse_from_attribute(die.attributes["DW_AT_location"], unit["version"], die)
        if not isinstance(location, list):
            self.ranges = [(low, high, location.loc_expr)]
            return
        for entry in location:
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                offset = 0 if entry.is_absolute else base
                self.ranges.append((entry.begin_offset + offset, entry.end_offset + offset, entry.loc_expr))

    def at(self, address, from_here=False):
        for start, end, expression in self.ranges:
            if start == address if from_here else start <= address < end:
                return self.parser.parse_expr(expression)
        return None

    @staticmethod
    def kind(operations):
        if not operations:
            return "nothing"
        return "caller" if any("entry_value" in one.op_name for one in operations) else "register or memory"

    def kind_at_fault(self, address):
        return self.kind(self.at(address))

    def kind_at_call(self, address, after):
        """While it waits: in a register that calls preserve, or where it is from the return on."""
        before = self.at(address)
        register = re.match(r"DW_OP_b?reg(\d+)$", before[0].op_name) if before else None
        if before and self.kind(before) == "register or memory" and (not register or int(register[1]) in PRESERVED):
            return "register or memory"
        return self.kind(self.at(after, from_here=True) or (before if self.kind(before) == "caller" else None))


def touches_memory(text):
    return "(" in text and not text.startswith(("lea", "nop", "data16", "cs ", "xchg   %ax")) and not re.search(
        r"\(%(rsp|rip)\)", text)


def count(path, counts):
    with open(path, "rb") as file:
        elf = ELFFile(file)
        dwarf = elf.get_dwarf_info()
        words = followed_words(elf.get_section_by_name(".recrash_map").data())
        labels, code = sorted(words), instructions(path)
        addresses, lists = [address for address, _ in code], LocationParser(dwarf.location_lists())
        for unit in dwarf.iter_CUs():
            top = unit.get_top_DIE().attributes
            base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
            for die in unit.iter_DIEs():
                if die.tag != "DW_TAG_subprogram" or not die.attributes.get("DW_AT_low_pc"):
                    continue
                low, size = die.attributes["DW_AT_low_pc"].value, die.attributes["DW_AT_high_pc"]
                high = size.value if size.form == "DW_FORM_addr" else low + size.value
                first = bisect.bisect_left(labels, low)
                if low == 0 or first == len(labels) or labels[first] >= high:
                    continue
                known = parameters(die)
                for number in words[labels[first]]:
                    places = Places(known.get(number), unit, lists, low, high, base)
                    for i in range(bisect.bisect_left(addresses, low), bisect.bisect_left(addresses, high)):
                        address, text = code[i]
                        if text.startswith("call"):
                            after = addresses[i + 1] if i + 1 < len(code) else high
                            counts["call", places.kind_at_call(address, after)] += 1
                        elif touches_memory(text):
                            counts["fault", places.kind_at_fault(address)] += 1


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    counts = collections.Counter()
    for path in sys.argv[1:]:
        count(path, counts)
    for where in ("call", "fault"):
        total = sum(number for (one, _), number in counts.items() if one == where)
        for kind in ("register or memory", "caller", "nothing"):
            number = counts[where, kind]
            print(f"{where:5} {kind:18} {number:8,} ({100 * number / max(1, total):.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
