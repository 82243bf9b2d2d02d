"""Stops gdb at the first line of the function that a crash test calls, with its original arguments.

Used by `recrash debug`; by hand:

  gdb -x recrash-gdb.py --args build/crash_test --recrash-in-process --gtest_filter='*.Frame0_*'

The launcher execs the program itself, with the replay library in it. That library calls
__recrash_before_call(function) when memory and arguments are as they were, just before it jumps to the function.
"""

import gdb

SETTINGS = (
    "pagination off",
    "confirm off",
    "breakpoint pending on",
    "follow-exec-mode same",
    "follow-fork-mode parent",
    # The recorded ranges must be free: without randomisation the program's own mappings would fall onto them for ever.
    "disable-randomization off",
)


def called_function():
    """The argument of __recrash_before_call, in which we stand."""
    try:
        return int(gdb.selected_frame().read_var("function"))
    except (ValueError, gdb.error):
        return int(gdb.parse_and_eval("$rdi"))


def after_prologue(entry):
    """Where gdb itself would stop in the function at `entry`: its own analysis, asked by linkage name."""
    try:
        block = gdb.block_for_pc(entry)
        while block and not block.function:
            block = block.superblock
        if not block:
            return entry
        gdb.execute(f"break -qualified -function {block.function.linkage_name}", to_string=True)
        probe = gdb.breakpoints()[-1]
        places = [place.address for place in probe.locations if place.address is not None]
        probe.delete()
        return min((place for place in places if entry <= place < block.end), default=entry)
    except (gdb.error, RuntimeError):
        return entry


def has_commands():
    """True if gdb was given commands, which print what they are asked for: the arguments would come twice."""
    with open("/proc/self/cmdline") as file:
        words = file.read().split("\0")
    own = words[:words.index("--args")] if "--args" in words else words
    return any(word.lstrip("-").split("=")[0] in ("ex", "eval-command") for word in own)


def select_called_function():
    """Its first line may be of a function that is inlined there."""
    if gdb.selected_frame().type() != gdb.INLINE_FRAME:
        return
    while gdb.selected_frame().type() == gdb.INLINE_FRAME:
        gdb.selected_frame().older().select()
    gdb.execute("frame")


def main():
    for setting in SETTINGS:
        gdb.execute(f"set {setting}", to_string=True)
    # The sandbox gives /dev/null where the program would open a file for writing.
    gdb.execute("handle SIGSYS nostop noprint pass", to_string=True)
    gdb.execute("tbreak __recrash_before_call", to_string=True)
    gdb.breakpoints()[-1].silent = True
    gdb.execute("run", to_string=True)
    if not any(thread.is_valid() for thread in gdb.selected_inferior().threads()):
        print("recrash: the test ended before its call; run it without a debugger to see why")
        return
    place = after_prologue(called_function())
    gdb.execute(f"tbreak *{place:#x}", to_string=True)
    gdb.execute("continue", to_string=True)
    select_called_function()
    if not has_commands():
        print(gdb.execute("info args", to_string=True), end="")


main()
