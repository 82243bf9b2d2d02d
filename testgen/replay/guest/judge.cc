#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "testgen/replay/checks/finding.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }
bool EndsWord(char c) { return c == 0 || strchr(" \t\n'\"`(),;:<>=", c) != nullptr; }

// Reads a message as all builds of a program would write it: an assertion's text has its line, which moves when the
// file above it is edited, and its file by the path of the build.
class Message {
 public:
  Message(const char* begin, size_t length) : at_(begin), end_(begin + length) {}

  // The next character; '#' for a number, 0 at the end.
  char Next() {
    if (begins_word_) SkipFolders();
    begins_word_ = false;
    if (at_ == end_) return 0;
    if (IsDigit(*at_)) {
      const bool is_hex = *at_ == '0' && at_ + 1 < end_ && (at_[1] | 32) == 'x';
      for (at_ += is_hex ? 2 : 0; at_ < end_ && (is_hex ? IsHexDigit(*at_) : IsDigit(*at_));) ++at_;
      return '#';
    }
    begins_word_ = EndsWord(*at_);
    return *at_++;
  }

 private:
  void SkipFolders() {
    for (const char* ahead = at_; ahead < end_ && !EndsWord(*ahead); ++ahead) {
      if (*ahead == '/') at_ = ahead + 1;
    }
  }

  const char* at_;
  const char* end_;
  bool begins_word_ = true;
};

// An assertion's own text: the program's name and the function's, which come before it, are written by each compiler in
// its own way.
const char* FromAssertion(const char* message) {
  const char* assertion = strstr(message, "Assertion ");
  return assertion ? assertion : message;
}

// What is left of a message without the line ends that glibc puts there.
size_t LengthOf(const char* message) {
  size_t length = strlen(message);
  while (length > 0 && message[length - 1] == '\n') --length;
  return length;
}

bool SameMessage(const char* recorded, const char* seen) {
  if (!Has(plan::kRebuilt)) {
    return LengthOf(recorded) == LengthOf(seen) && memcmp(recorded, seen, LengthOf(seen)) == 0;
  }
  recorded = FromAssertion(recorded);
  seen = FromAssertion(seen);
  Message then(recorded, LengthOf(recorded)), now(seen, LengthOf(seen));
  for (;;) {
    const char next = then.Next();
    if (next != now.Next()) return false;
    if (next == 0) return true;
  }
}

bool HitStackEnd(const Observed& observed) {
  return observed.signal == SIGSEGV && observed.address < world.plan->stack_start &&
         observed.address >= world.plan->stack_start - plan::kOverflowReach;
}

// A test of an inlined frame calls a copy of its function: it dies in another function's code, at the same line.
bool SamePlaceInCopy(const Observed& observed) {
  if (!world.run.call.inlined) return false;
  // A return address may already belong to the next line; one byte back is inside the call.
  const uint64_t recorded = ToRecorded(observed.own_pc == observed.pc ? observed.own_pc : observed.own_pc - 1);
  for (const plan::Range& range : TableOf<plan::Range>(world.plan->place_copies)) {
    if (recorded >= range.start && recorded < range.end) return true;
  }
  return false;
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
  return ToRecorded(observed.own_pc) == world.plan->place_pc || SamePlaceInCopy(observed);
}

// Is the word one of those in `words`, which have a blank behind each?
bool IsAmong(const char* words, const char* word, size_t length) {
  for (const char* end; (end = strchr(words, ' ')); words = end + 1) {
    if (static_cast<size_t>(end - words) == length && memcmp(words, word, length) == 0) return true;
  }
  return false;
}

// Does a handler of this type, "" or "*" for any, catch what was thrown?
bool Catches(const char* type, size_t length, const Observed& observed) {
  if (length == 0 || (length == 1 && *type == '*')) return true;
  const bool is_type = strlen(observed.exception_type) == length && memcmp(observed.exception_type, type, length) == 0;
  return is_type || IsAmong(observed.exception_bases, type, length);
}

bool EndedByException(const Observed& observed) { return observed.terminated && observed.exception_type[0]; }

// Does a caller on the recorded stack catch what was thrown, by the handlers of the recorded build?
bool IsCaughtAsRecorded(const Observed& observed, const plan::Frame& frame) {
  if (!EndedByException(observed)) return false;
  for (const plan::Text text : TableOf<plan::Text>(frame.caught)) {
    if (Catches(TextOf(text), strlen(TextOf(text)), observed)) return true;
  }
  return false;
}

// The same by the handlers of this build.
bool IsCaughtHere(const Observed& observed, const Answer& answer) {
  if (!EndedByException(observed)) return false;
  const char* type = answer.caught;
  for (const char* end; (end = strchr(type, ' ')); type = end + 1) {
    if (Catches(type, static_cast<size_t>(end - type), observed)) return true;
  }
  return false;
}

// A fix of an exception that nobody caught may be a handler: a caller catches in this build what none caught before.
bool IsCaughtNow(const Observed& observed, const Answer& answer, const plan::Frame& frame) {
  return Has(plan::kRebuilt) && IsCaughtHere(observed, answer) && !IsCaughtAsRecorded(observed, frame);
}

bool SameFailure(const Observed& observed, const Answer& answer, const plan::Frame& frame) {
  const char* type = TextOf(world.plan->exception_type);
  const char* abort_message = TextOf(world.plan->abort_message);
  if (world.plan->failure_kind == abi::FailureKind::kReported) {
    return observed.ending == Ending::kReported && strcmp(observed.reason, TextOf(world.plan->reason)) == 0 &&
           SamePlace(observed, answer);
  }
  if (observed.ending != Ending::kSignal) return false;
  if (IsAny(observed.finding) && observed.signal == SIGABRT)
    return world.plan->failure_kind == abi::FailureKind::kSignal &&
           StandsFor(observed.finding, world.plan->signal, abort_message) && SamePlace(observed, answer);
  // No signal is recorded of an exception that main caught (RECRASH_OPTIONS=exceptions=main).
  const bool is_caught_in_main =
      world.plan->failure_kind == abi::FailureKind::kException && world.plan->signal == 0 && observed.terminated;
  if (observed.signal != world.plan->signal && !is_caught_in_main) return false;
  if (world.plan->failure_kind == abi::FailureKind::kException) {
    if (IsCaughtNow(observed, answer, frame) || strcmp(observed.exception_type, type) != 0) return false;
    const char* what = TextOf(world.plan->exception_what);
    if (*what == 0 && observed.exception_what[0]) return SamePlace(observed, answer);  // it was not known any more
    return SameMessage(what, observed.exception_what);
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
  if (IsAny(observed.finding)) {
    snprintf(text, size, "%s: %s in %s", observed.finding.checker, observed.finding.text, place);
  } else if (observed.exception_type[0]) {
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
      snprintf(text, size, "no outcome: it waits for something that a replay does not have");
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

// The recorded heap is that of another allocator: AddressSanitizer knows none of its blocks, and refuses to free them.
bool IsOfRecordedBlock(const Observed& observed) {
  constexpr const char* kFindings[] = {"bad-free", "bad-malloc_usable_size", "alloc-dealloc-mismatch"};
  for (const char* finding : kFindings) {
    if (strcmp(observed.finding.text, finding) == 0) return true;
  }
  return false;
}

// A frame near the end of the stack overflows in one build, and needs less of it in another.
constexpr uint64_t kLittleStack = 64 << 10;

// Whatever it did, it would have found other bytes in that memory.
Verdict JudgeWithoutMemory(const Observed& observed, char* text, size_t size) {
  char how[1000];
  snprintf(how, sizeof how, "%s", text);
  snprintf(text, size, "%s, after it had touched memory that is not in this report (at 0x%llx)", how,
           static_cast<unsigned long long>(observed.absent_memory));
  return Verdict::kMissing;
}

// A return is no proof of a fix where the call could not get to the bug, or did harm that shows later.
Verdict JudgeReturn(const Observed& observed, const plan::Frame& frame, char* text, size_t size) {
  if (observed.absent[0]) {
    snprintf(text, size, "returned, but this replay does not have %s", observed.absent);
    return Verdict::kMissing;
  }
  if (IsAny(observed.finding)) {
    snprintf(text, size, "returned, but %s had found: %s", observed.finding.checker, observed.finding.text);
    return Verdict::kDifferentFailure;
  }
  if (observed.overrun) {
    snprintf(text, size, "returned, but it had written beyond the end of the heap block at 0x%llx",
             static_cast<unsigned long long>(observed.overrun));
    return Verdict::kDifferentFailure;
  }
  if (!Has(plan::kRebuilt)) return Verdict::kReturned;
  if (*TextOf(frame.dangling)) {
    snprintf(text, size,
             "returned, but `%s` leads to a local of a function that has returned, and what lies there differs between "
             "builds: the bad access did no harm in this one",
             TextOf(frame.dangling));
    return Verdict::kHarmless;
  }
  const uint64_t left = frame.entry_sp - world.plan->stack_start;
  if (Has(plan::kStackOverflow) && left < kLittleStack) {
    snprintf(text, size,
             "returned, but it had %llu bytes of stack when the recursion overflowed, and this build may need less",
             static_cast<unsigned long long>(left));
    return Verdict::kHarmless;
  }
  return JudgePlace(observed.place, world.place.where, Verdict::kReturned, text, size);
}

Verdict JudgeWithout(const char* missing, char* text, size_t size) {
  char how[1000];
  snprintf(how, sizeof how, "%s", text);
  snprintf(text, size, "%s, but this replay does not have %s", how, missing);
  return Verdict::kMissing;
}

Verdict JudgeExit(const Observed& observed, char* text, size_t size) {
  if (!IsAny(observed.finding)) return JudgePlace(observed.place, world.place.where, Verdict::kExited, text, size);
  snprintf(text, size, "exit(%d), but %s had found: %s", observed.status, observed.finding.checker,
           observed.finding.text);
  return Verdict::kDifferentFailure;
}

// A program that finds a file missing may well throw what its callers catch. For want of a file that the dead process
// had it may fail in any way.
Verdict JudgeFailure(const Observed& observed, bool is_caught, char* text, size_t size) {
  if (observed.absent[0]) return JudgeWithout(observed.absent, text, size);
  if (is_caught && observed.not_found[0]) return JudgeWithout(observed.not_found, text, size);
  return is_caught ? Verdict::kCaught : Verdict::kDifferentFailure;
}

Verdict JudgeEnd(const Observed& observed, const Answer& answer, const plan::Frame& frame, char* text, size_t size) {
  switch (observed.ending) {
    case Ending::kReturned:
      return JudgeReturn(observed, frame, text, size);
    case Ending::kExited:
      return MissingAtExit(observed) ? Verdict::kMissing : JudgeExit(observed, text, size);
    case Ending::kTimedOut:
      return Verdict::kTimedOut;
    case Ending::kWaited:
      return Verdict::kWaited;
    default:
      return JudgeFailure(observed, IsCaughtAsRecorded(observed, frame) || IsCaughtHere(observed, answer), text, size);
  }
}

// Between the entry and the crash blocks come and go. At the recorded place that is the bug all the same.
bool IsByHeapOfCrash(const Observed& observed) {
  return observed.ending == Ending::kSignal && (strcmp(observed.finding.text, kByHeapOfCrash) == 0 ||
                                                strcmp(observed.finding.text, kFreedByHeapOfCrash) == 0);
}

Verdict JudgeByHeapOfCrash(char* text, size_t size) {
  const size_t used = strlen(text);
  snprintf(text + used, size - used, ", and may have been one when the call began");
  return Verdict::kMissing;
}

// Says which function was called, if it is not the recorded one. With a parameter that nobody knows only the recorded
// failure proves something.
Verdict JudgeSuccessor(Verdict verdict, const plan::Frame& frame, char* text, size_t size) {
  if (!*TextOf(frame.in_place)) return verdict;
  char how[1000];
  snprintf(how, sizeof how, "%s", text);
  const bool proves = !*TextOf(frame.added) || verdict == Verdict::kReproduced;
  if (proves) {
    snprintf(text, size, "%s (calls %s)", how, TextOf(frame.in_place));
    return verdict;
  }
  snprintf(text, size, "%s, but this replay calls %s, and does not have a value of %s", how, TextOf(frame.in_place),
           TextOf(frame.added));
  return Verdict::kMissing;
}

}  // namespace

Verdict Judge(const Observed& observed, const plan::Frame& frame, char* text, size_t size) {
  const bool asks = observed.ending == Ending::kSignal || observed.ending == Ending::kReported;
  const Answer answer = asks ? AskTool(observed, frame) : Answer{plan::Same::kNotKnown, "", ""};
  Describe(observed, answer, text, size);
  if (observed.absent_memory) return JudgeWithoutMemory(observed, text, size);
  if (observed.rewinding) {
    char how[1000];
    snprintf(how, sizeof how, "%s", text);
    snprintf(text, size, "a stream could not be rewound: %s", how);
    return Verdict::kCannotReplay;
  }
  if (!world.blocks.detoured && IsOfRecordedBlock(observed)) return Verdict::kCannotReplay;
  const bool is_same = SameFailure(observed, answer, frame);
  if (!is_same && IsByHeapOfCrash(observed)) return JudgeByHeapOfCrash(text, size);
  const Verdict verdict = is_same ? Verdict::kReproduced : JudgeEnd(observed, answer, frame, text, size);
  return JudgeSuccessor(verdict, frame, text, size);
}

}  // namespace recrash::replay
