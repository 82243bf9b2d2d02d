"""Stops lldb at the first line of the function that a crash test calls, with its original arguments.

  lldb -o 'command script import recrash_lldb.py' -o recrash -- build/crash_test --recrash-in-process --gtest_filter='*.Frame0_*'

The launcher execs the program itself; lldb follows. The replay library calls __recrash_before_call(function) when
memory and arguments are as they were, just before it jumps to the function.
"""

import lldb

SETTINGS = (
    # The recorded ranges must be free: without randomisation the program's own mappings would fall onto them for ever.
    "target.disable-aslr false",
    "target.process.stop-on-exec false",
)


def after_prologue(target, entry):
    address = target.ResolveLoadAddress(entry)
    function = address.GetFunction() or address.GetSymbol()
    return entry + (function.GetPrologueByteSize() if function else 0)


def add_debug_files(debugger, process):
    """What the launcher found where recrash's search paths lead, and lldb would not look."""
    try:
        with open(f"/proc/{process.GetProcessID()}/environ", errors="surrogateescape") as file:
            variables = dict(word.split("=", 1) for word in file.read().split("\0") if "=" in word)
    except OSError:
        return
    for line in variables.get("RECRASH_DEBUG_FILES", "").split("\n"):
        if " " in line:
            debugger.HandleCommand(f'target symbols add "{line.split(" ", 1)[1]}"')


def stop_in_called_function(frame, location, internal_dict):
    """At __recrash_before_call: a breakpoint in what is called, and on."""
    function = frame.FindRegister("rdi").GetValueAsUnsigned()
    process = frame.GetThread().GetProcess()
    target = process.GetTarget()
    add_debug_files(target.GetDebugger(), process)
    target.BreakpointCreateByAddress(after_prologue(target, function)).SetOneShot(True)
    return False


def select_called_function(process):
    """Its first line may be of a function that is inlined there."""
    thread = process.GetSelectedThread()
    index = 0
    while thread.GetFrameAtIndex(index).IsInlined():
        index += 1
        thread.SetSelectedFrame(index)


def recrash(debugger, command, result, internal_dict):
    for setting in SETTINGS:
        debugger.HandleCommand(f"settings set {setting}")
    target = debugger.GetSelectedTarget()
    before_call = target.BreakpointCreateByName("__recrash_before_call")
    before_call.SetScriptCallbackFunction(f"{__name__}.stop_in_called_function")
    was_async = debugger.GetAsync()
    debugger.SetAsync(False)
    # The sandbox gives /dev/null where the program would open a file for writing.
    for signal in ("SIGSYS", "SIGCHLD"):
        debugger.GetCommandInterpreter().HandleCommand(f"process handle {signal} --stop false --notify false --pass true",
                                                       lldb.SBCommandReturnObject())
    debugger.HandleCommand("process launch")
    select_called_function(target.GetProcess())
    debugger.SetAsync(was_async)


def __lldb_init_module(debugger, internal_dict):
    debugger.HandleCommand(f"command script add -o -f {__name__}.recrash recrash")
