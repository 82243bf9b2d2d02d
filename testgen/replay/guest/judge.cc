#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Equal but for the numbers: an assertion's text carries its line, which moves when the file above it is edited.
bool EqualButNumbers(const char* a, size_t a_length, const char* b, size_t b_length) {
  const char* a_end = a + a_length;
  const char* b_end = b + b_length;
  for (;;) {
    if (a < a_end && b < b_end && IsDigit(*a) && IsDigit(*b)) {
      while (a < a_end && IsDigit(*a)) ++a;
      while (b < b_end && IsDigit(*b)) ++b;
    }
    if (a == a_end || b == b_end) return a == a_end && b == b_end;
    if (*a++ != *b++) return false;
  }
}

// What is left of a message without the line ends that glibc puts there.
size_t LengthOf(const char* message) {
  size_t length = strlen(message);
  while (length > 0 && message[length - 1] == '\n') --length;
  return length;
}

bool SameMessage(const char* recorded, const char* seen) {
  const size_t length = LengthOf(recorded);
  if (Has(plan::kRebuilt)) return EqualButNumbers(recorded, length, seen, LengthOf(seen));
  return length == LengthOf(seen) && memcmp(recorded, seen, length) == 0;
}

bool HitStackEnd(const Observed& observed) {
  return observed.signal == SIGSEGV && observed.address < world.plan->stack_start &&
         observed.address >= world.plan->stack_start - plan::kOverflowReach;
}

// The same instruction of the program (or return address of its call) on the same build; on another the same place in
// the source or, where debug information does not say, the same function. An overflow is the same wherever in the
// recursion it strikes.
bool SamePlace(const Observed& observed, const Answer& answer) {
  if (Has(plan::kStackOverflow)) return HitStackEnd(observed);
  if (Has(plan::kRebuilt) && answer.same != plan::Same::kNotKnown) return answer.same == plan::Same::kYes;
  if (world.plan->place_pc == 0) return ToRecorded(observed.pc) == world.plan->failure_pc;
  if (observed.own_pc == 0) return false;
  const LiveModule* module = FindLive(observed.own_pc);
  if (module && module->rebuilt()) {
    const uint64_t offset = observed.own_pc - module->live.start;
    return module->recorded_range.Contains(world.plan->place_pc) && offset >= world.plan->place_start &&
           offset <= world.plan->place_end;
  }
  return ToRecorded(observed.own_pc) == world.plan->place_pc;
}

bool SameFailure(const Observed& observed, const Answer& answer) {
  const char* type = TextOf(world.plan->exception_type);
  const char* abort_message = TextOf(world.plan->abort_message);
  if (world.plan->failure_kind == abi::FailureKind::kReported) {
    return observed.ending == Ending::kReported && strcmp(observed.reason, TextOf(world.plan->reason)) == 0 &&
           SamePlace(observed, answer);
  }
  if (observed.ending != Ending::kSignal || observed.signal != world.plan->signal) return false;
  if (world.plan->failure_kind == abi::FailureKind::kException) {
    return strcmp(observed.exception_type, type) == 0 &&
           strcmp(observed.exception_what, TextOf(world.plan->exception_what)) == 0;
  }
  // Where a build aborts, the fixed one may throw, and in a replay nobody need catch that: it is another failure,
  // though in the same function. An abort in a catch handler has an exception too, but std::terminate is not on its
  // stack. On the build that crashed the place alone tells: agents differ in what they make of a terminate handler of
  // the program.
  if (Has(plan::kRebuilt) && observed.terminated && observed.exception_type[0]) return false;
  if (observed.signal == SIGABRT && !SameMessage(abort_message, observed.abort_message)) return false;
  return SamePlace(observed, answer);
}

// ---- One line for people ---------------------------------------------------------------------------------------

void SignalName(int signal, char* out, size_t size) {
  const char* name = sigabbrev_np(signal);
  if (name) {
    snprintf(out, size, "SIG%s", name);
  } else {
    snprintf(out, size, "signal %d", signal);
  }
}

void OneLine(char* text) {
  size_t length = strlen(text);
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) text[--length] = 0;
  for (char* at = text; *at; ++at) {
    if (static_cast<unsigned char>(*at) < ' ') *at = ' ';
  }
}

void DescribeSignal(const Observed& observed, const Answer& answer, char* text, size_t size) {
  char signal[32];
  char name[512] = "";
  SignalName(observed.signal, signal, sizeof signal);
  const uint64_t pc = observed.own_pc ? observed.own_pc : observed.pc;
  // A return address may already belong to the next function; one byte back is inside the call.
  if (!answer.where[0]) NameCode(pc == observed.pc ? pc : pc - 1, name, sizeof name);
  const char* place = answer.where[0] ? answer.where : name;
  if (observed.exception_type[0]) {
    char type[512];
    DemangleType(observed.exception_type, type, sizeof type);
    snprintf(text, size, "uncaught %s%s%s (in %s)", type, observed.exception_what[0] ? ": " : "",
             observed.exception_what, place);
  } else if (observed.abort_message[0]) {
    snprintf(text, size, "%s: %.*s (in %s)", signal, static_cast<int>(LengthOf(observed.abort_message)),
             observed.abort_message, place);
  } else if (HitStackEnd(observed)) {
    snprintf(text, size, "%s: stack overflow in %s", signal, place);
  } else if (observed.signal == SIGSEGV || observed.signal == SIGBUS) {
    snprintf(text, size, "%s in %s, address 0x%llx", signal, place, static_cast<unsigned long long>(observed.address));
  } else {
    snprintf(text, size, "%s in %s", signal, place);
  }
}

// What may be why it exited, though it would not if all were as at the crash; null: nothing. A program that ends well
// has not missed what it did not find.
const char* MissingAtExit(const Observed& observed) {
  if (observed.absent[0]) return observed.absent;
  return observed.status != 0 && observed.not_found[0] ? observed.not_found : nullptr;
}

void DescribeExit(const Observed& observed, char* text, size_t size) {
  const char* missing = MissingAtExit(observed);
  if (missing) {
    snprintf(text, size, "exit(%d), but this replay does not have %s", observed.status, missing);
  } else {
    snprintf(text, size, "exit(%d)", observed.status);
  }
}

// Does a caller on the recorded stack catch what was thrown?
bool IsCaught(const Observed& observed, const plan::Frame& frame) {
  if (!observed.terminated || !observed.exception_type[0]) return false;
  for (const plan::Text text : TableOf<plan::Text>(frame.caught)) {
    const char* type = TextOf(text);
    if (!*type || strcmp(type, observed.exception_type) == 0) return true;
    const size_t length = strlen(type);
    for (const char* base = observed.exception_bases; *base; ++base) {
      const char* end = strchr(base, ' ');
      if (!end) break;
      if (static_cast<size_t>(end - base) == length && memcmp(base, type, length) == 0) return true;
      base = end;
    }
  }
  return false;
}

void Describe(const Observed& observed, const Answer& answer, char* text, size_t size) {
  char signal[32];
  switch (observed.ending) {
    case Ending::kSignal:
      DescribeSignal(observed, answer, text, size);
      break;
    case Ending::kReturned:
      snprintf(text, size, "returned");
      break;
    case Ending::kReported:
      snprintf(text, size, "reported \"%s\"", observed.reason);
      break;
    case Ending::kTimedOut:
      snprintf(text, size, "no outcome within %g s of processor time", world.plan->seconds_per_frame);
      break;
    case Ending::kWaited:
      snprintf(text, size, "no outcome within %g s: it waits for something that a replay does not have",
               world.plan->seconds_per_frame);
      break;
    case Ending::kExited:
      DescribeExit(observed, text, size);
      break;
    case Ending::kKilled:
      SignalName(observed.status, signal, sizeof signal);
      snprintf(text, size, "killed by %s", signal);
      break;
    case Ending::kNone:
      snprintf(text, size, "no outcome");
      break;
  }
  OneLine(text);
}

}  // namespace

Verdict Judge(const Observed& observed, const plan::Frame& frame, char* text, size_t size) {
  const bool asks = observed.ending == Ending::kSignal || observed.ending == Ending::kReported;
  const Answer answer = asks ? AskTool(observed) : Answer{plan::Same::kNotKnown, ""};
  Describe(observed, answer, text, size);
  if (observed.rewinding) {
    char how[1000];
    snprintf(how, sizeof how, "%s", text);
    snprintf(text, size, "a stream could not be rewound: %s", how);
    return Verdict::kCannotReplay;
  }
  if (SameFailure(observed, answer)) return Verdict::kReproduced;
  switch (observed.ending) {
    case Ending::kReturned:
      return Verdict::kReturned;
    case Ending::kExited:
      return MissingAtExit(observed) ? Verdict::kMissing : Verdict::kExited;
    case Ending::kTimedOut:
      return Verdict::kTimedOut;
    case Ending::kWaited:
      return Verdict::kWaited;
    default:
      return IsCaught(observed, frame) ? Verdict::kCaught : Verdict::kDifferentFailure;
  }
}

}  // namespace recrash::replay
