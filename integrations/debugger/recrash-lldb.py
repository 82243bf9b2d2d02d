"""Stops lldb at the entry of the function that a crash test calls, with its original arguments.

  lldb -o 'command script import recrash-lldb.py' -- build/crash_test --recrash-in-process --gtest_filter='*.Frame0_*'
  (lldb) recrash

The launcher execs the program itself; lldb follows. The replay library calls __recrash_before_call(function) when
memory and arguments are as they were, just before it jumps to the function.
"""

import lldb


def stop_in_called_function(frame, location, internal_dict):
    """At __recrash_before_call: a breakpoint at what is called, and on."""
    function = frame.FindRegister("rdi").GetValueAsUnsigned()
    target = frame.GetThread().GetProcess().GetTarget()
    target.BreakpointCreateByAddress(function).SetOneShot(True)
    return False


def recrash(debugger, command, result, internal_dict):
    # The recorded ranges must be free: without randomisation the program's own mappings would fall onto them for ever.
    debugger.HandleCommand("settings set target.disable-aslr false")
    target = debugger.GetSelectedTarget()
    before_call = target.BreakpointCreateByName("__recrash_before_call")
    before_call.SetScriptCallbackFunction(f"{__name__}.stop_in_called_function")
    debugger.HandleCommand("process launch")
    # The sandbox gives /dev/null where the program would open a file for writing.
    debugger.HandleCommand("process handle SIGSYS --stop false --notify false --pass true")


def __lldb_init_module(debugger, internal_dict):
    debugger.HandleCommand(f"command script add -f {__name__}.recrash recrash")
