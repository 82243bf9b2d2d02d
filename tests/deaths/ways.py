"""What a report of each way to die must say, and what a test made of it does. The ways themselves are in program/ways.cc.

What is the same for all surroundings is here. The address that a failure must have the program says itself before it dies.
"""

import dataclasses
import signal

SIGSTKFLT = 16
SI_KERNEL, SI_USER, SI_TKILL = 128, 0, -6
MAPERR, ACCERR, ADRALN, ADRERR, INTDIV, ILLOPN, SYS_SECCOMP = 1, 2, 1, 2, 1, 2, 1
REPRODUCED = "reproduced"


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    signal: int = 0  # 0: nothing dies
    codes: tuple = (SI_TKILL,)  # si_code
    frame: str = None  # the function that fails: the innermost of the program's own (default: that of the way)
    own_pc: bool = False  # the failing instruction is its own
    pc_is_address: bool = False  # it is where the program jumped to
    message: str = ""  # a part of the C library's last word
    exception: tuple = None  # type, what()
    reason: str = ""  # of RECRASH_REPORT
    verdicts: tuple = (REPRODUCED,)

    @property
    def function(self):
        return self.frame or self.name.partition("_")[0]

    @property
    def aborts(self):
        """By abort(), which takes SIGABRT off the signals that are blocked."""
        return self.signal == signal.SIGABRT and not self.name.startswith("Raise_")

    @property
    def leaves_report(self):
        return bool(self.signal or self.reason or self.exception)


def fault(name, number, code, **more):
    return Way(name, number, (code,), own_pc=True, **more)


def aborts(name, message="", **more):
    return Way(name, signal.SIGABRT, (SI_TKILL,), message=message, **more)


def throws(name, kind="std::range_error", what="the divisor is zero", **more):
    return Way(name, signal.SIGABRT, (SI_TKILL,), exception=(kind, what), **more)


def raises(name):
    number = SIGSTKFLT if name == "SIGSTKFLT" else signal.Signals[name].value
    return Way(f"Raise_{name}", number, (SI_TKILL,))


SEGV = signal.SIGSEGV
RAISED = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGXCPU", "SIGXFSZ", "SIGQUIT", "SIGSTKFLT")

WAYS = {way.name: way for way in (
    Way("Nothing"),
    fault("NullRead", SEGV, MAPERR), fault("NullWrite", SEGV, MAPERR),
    fault("WildRead", SEGV, MAPERR), fault("WildWrite", SEGV, MAPERR),
    fault("NonCanonicalRead", SEGV, SI_KERNEL),
    fault("ConstantWrite", SEGV, ACCERR), fault("UnmappedRead", SEGV, MAPERR), fault("ProtectedRead", SEGV, ACCERR),
    fault("BeyondFile", signal.SIGBUS, ADRERR),
    fault("UnalignedVector", SEGV, SI_KERNEL), fault("Unaligned", signal.SIGBUS, ADRALN),
    Way("StackOverflow", SEGV, (MAPERR, ACCERR), own_pc=True),  # a thread's stack ends in a page without rights
    Way("ExecuteData", SEGV, (ACCERR,), pc_is_address=True), Way("CallNull", SEGV, (MAPERR,), pc_is_address=True),
    fault("IllegalInstruction", signal.SIGILL, ILLOPN), fault("Privileged", SEGV, SI_KERNEL),
    fault("Breakpoint", signal.SIGTRAP, SI_KERNEL), fault("DivideByZero", signal.SIGFPE, INTDIV),
    aborts("Abort"), aborts("Assert", 'box->divisor == 1 && "the divisor is one"'),
    aborts("FreeTwice", "double free"), aborts("FreeForeign", "free(): invalid"),
    aborts("SmashStack", "stack smashing detected"),
    throws("Throw"), throws("ThrowNumber", "int", ""), throws("ThrowInNoexcept", frame="Throw"),
    throws("Replace", "std::logic_error", "replaced"),
    aborts("Terminate"), aborts("CallPure", frame="Call"),
    *map(raises, RAISED),
    # Where the thread is when another process sends the signal is another place each time; or a replay waits for a child that it has not.
    Way("SentByChild", SEGV, verdicts=(REPRODUCED, "different failure", "waited")), 
    # A replay has limits of its own, and writes no file.
    Way("FileTooLarge", signal.SIGXFSZ, (SI_USER,), verdicts=("returned",)),
    # A replay has a limit of its own.
    Way("TooLong", signal.SIGXCPU, (SI_KERNEL,), verdicts=("returned",)),
    # A replay has a filter of its own.
    Way("ForbiddenCall", signal.SIGSYS, (SYS_SECCOMP,), own_pc=True, verdicts=("returned",)),
    Way("Report", reason="the divisor is zero"),
    Way("CaughtInMain", exception=("std::range_error", "the divisor is zero"), frame="Throw"))}
