"""Stops gdb at the first line of the function that a crash test calls, with its original arguments.

  gdb -x recrash-gdb.py -ex recrash --args build/crash_test --recrash-in-process --gtest_filter='*.Frame0_*'

Sourcing it prepares gdb: the next `run` stops there. So front ends that run the program themselves, such as VS Code,
source it and do nothing else. The command `recrash`, which `recrash debug` gives, runs the program and lists the arguments.

The launcher execs the program itself, with the replay library in it. That library calls
__recrash_before_call(function) when memory and arguments are as they were, just before it jumps to the function.
"""

import os

import gdb

SETTINGS = (
    "pagination off",
    "confirm off",
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


class BeforeCall(gdb.Breakpoint):
    """Goes on to the function, so that the first stop of all is the one that people want."""

    breakpoint = None
    reached = False

    def stop(self):
        BeforeCall.reached = True
        gdb.Breakpoint(f"*{after_prologue(called_function()):#x}", temporary=True)
        return False


def debug_files():
    """By build-id: what the launcher found where recrash's search paths lead, and gdb would not look."""
    try:
        with open(f"/proc/{gdb.selected_inferior().pid}/environ", errors="surrogateescape") as file:
            variables = dict(word.split("=", 1) for word in file.read().split("\0") if "=" in word)
    except OSError:
        return {}
    lines = variables.get("RECRASH_DEBUG_FILES", "").split("\n")
    return dict(line.split(" ", 1) for line in lines if " " in line)


def loaded(event):
    """The replay library comes with the program itself, which the launcher starts; before that there is nothing to stop in."""
    objfile = event.new_objfile
    if os.path.basename(objfile.filename or "") == "librecrash_replay.so" and not BeforeCall.breakpoint:
        BeforeCall.breakpoint = BeforeCall("__recrash_before_call", internal=True)
    if objfile.owner is None and (path := debug_files().get(objfile.build_id)):
        objfile.add_separate_debug_file(path)


def has_other_commands():
    """True if gdb was given commands, which print what they are asked for: the arguments would come twice."""
    with open("/proc/self/cmdline") as file:
        words = file.read().split("\0")
    own = words[:words.index("--args")] if "--args" in words else words
    return sum(word.lstrip("-").split("=")[0] in ("ex", "eval-command") for word in own) > 1


class Recrash(gdb.Command):
    """Run the crash test up to the first line of the function that it calls."""

    def __init__(self):
        super().__init__("recrash", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        gdb.execute("run", to_string=True)
        if not BeforeCall.reached:
            print("recrash: the test ended before its call; run it without a debugger to see why")
            return
        # The first line may be of a function that is inlined there.
        if gdb.selected_frame().type() == gdb.INLINE_FRAME:
            while gdb.selected_frame().type() == gdb.INLINE_FRAME:
                gdb.selected_frame().older().select()
            gdb.execute("frame")
        if not has_other_commands():
            print(gdb.execute("info args", to_string=True), end="")


for setting in SETTINGS:
    gdb.execute(f"set {setting}", to_string=True)
# The sandbox gives /dev/null where the program would open a file for writing.
gdb.execute("handle SIGSYS nostop noprint pass", to_string=True)
gdb.events.new_objfile.connect(loaded)
Recrash()
