// Verdicts on replays that are only described: a plan and an outcome with invented addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <string>
#include <vector>

#include "testgen/replay/checks/finding.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {

World world;

// One build, at its recorded addresses, unless a test has another one.
const LiveModule* g_rebuilt;
const LiveModule* FindLive(uint64_t) { return g_rebuilt; }
uint64_t ToRecorded(uint64_t live_address) { return live_address; }
Answer g_answer;
Answer AskTool(const Observed&, const plan::Frame&) { return g_answer; }
void NameCode(uint64_t, char* out, size_t size) { snprintf(out, size, "Parse(char const*)"); }
void DemangleType(const char* mangled, char* out, size_t size) { snprintf(out, size, "%s", mangled); }

namespace {

constexpr uint64_t kPlace = 0x401234;
constexpr uint64_t kStack = 0x7ffe00000000;

// What the dead process failed with, as the subject has it.
class Recorded : public ::testing::Test {
 protected:
  Recorded() {
    plan_.failure_kind = abi::FailureKind::kSignal;
    plan_.signal = SIGSEGV;
    plan_.place_pc = kPlace;
    plan_.stack_start = kStack;
    plan_.seconds_per_frame = 2;
  }

  plan::Text Text(const char* text) {
    const auto offset = static_cast<plan::Text>(texts_.size());
    texts_.insert(texts_.end(), text, text + strlen(text) + 1);
    return offset;
  }

  // Recorded callers catch this type.
  void Catch(const char* type) {
    const plan::Text text = Text(type);
    caught_.assign(reinterpret_cast<const char*>(&text), reinterpret_cast<const char*>(&text + 1));
    frame_.caught.count = 1;
  }

  // The verdict; text() has the line for people.
  Verdict On(const Observed& observed) {
    plan_.text.offset = sizeof plan_;
    bytes_.assign(reinterpret_cast<const char*>(&plan_), reinterpret_cast<const char*>(&plan_ + 1));
    bytes_.insert(bytes_.end(), texts_.begin(), texts_.end());
    frame_.caught.offset = bytes_.size();
    bytes_.insert(bytes_.end(), caught_.begin(), caught_.end());
    world.bytes = bytes_.data();
    world.plan = reinterpret_cast<const plan::Header*>(bytes_.data());
    return Judge(observed, frame_, text_, sizeof text_);
  }
  std::string text() const { return text_; }

  plan::Header plan_{};
  plan::Frame frame_{};

 private:
  std::vector<char> texts_ = {'\0'};
  std::vector<char> caught_;
  std::vector<char> bytes_;
  char text_[1000] = "";
};

Observed Died(int signal, uint64_t own_pc) {
  Observed observed{};
  observed.ending = Ending::kSignal;
  observed.signal = signal;
  observed.pc = observed.own_pc = own_pc;
  return observed;
}

Observed Aborted(const char* message) {
  Observed observed = Died(SIGABRT, kPlace);
  snprintf(observed.abort_message, sizeof observed.abort_message, "%s", message);
  return observed;
}

TEST_F(Recorded, IsReproducedBySignalAndPlace) {
  EXPECT_EQ(On(Died(SIGSEGV, kPlace)), Verdict::kReproduced);
  EXPECT_EQ(text(), "SIGSEGV in Parse(char const*), address 0x0");
  EXPECT_EQ(On(Died(SIGSEGV, kPlace + 8)), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Died(SIGFPE, kPlace)), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Died(SIGSEGV, 0)), Verdict::kDifferentFailure);
}

// A recursion ends wherever the stack does.
TEST_F(Recorded, OverflowIsReproducedAnywhereInTheRecursion) {
  plan_.flags = plan::kStackOverflow;
  Observed observed = Died(SIGSEGV, kPlace + 0x500);
  observed.address = kStack - 8;
  EXPECT_EQ(On(observed), Verdict::kReproduced);
  EXPECT_EQ(text(), "SIGSEGV: stack overflow in Parse(char const*)");
  observed.address = kStack + 8;
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
}

// An assertion's text has its line, which moves when the file above it is edited.
TEST_F(Recorded, AbortIsReproducedByItsMessage) {
  plan_.signal = SIGABRT;
  plan_.abort_message = Text("a.cc:12: n < 7\n");
  EXPECT_EQ(On(Aborted("a.cc:12: n < 7")), Verdict::kReproduced);
  EXPECT_EQ(On(Aborted("a.cc:145: n < 7")), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Aborted("")), Verdict::kDifferentFailure);
  plan_.flags = plan::kRebuilt;
  EXPECT_EQ(On(Aborted("a.cc:145: n < 7")), Verdict::kReproduced);
  EXPECT_EQ(On(Aborted("a.cc:145: m < 7")), Verdict::kDifferentFailure);
}

// Builds write the same message in their own ways.
TEST_F(Recorded, MessageIsTheSameButForNumbersAddressesAndFolders) {
  plan_.signal = SIGABRT;
  plan_.flags = plan::kRebuilt;
  plan_.abort_message =
      Text("server: /home/ada/src/cache.cc:41: int Cache::Find(int): Assertion `index < 7' failed.\n");
  const char kHere[] =
      "server-debug: ../../src/cache.cc:44: int Cache::Find(int) [T = int]: Assertion `index < 7' failed.";
  EXPECT_EQ(On(Aborted(kHere)), Verdict::kReproduced);
  EXPECT_EQ(On(Aborted("server: /home/ada/src/cache.cc:41: int Cache::Find(int): Assertion `other < 7' failed.")),
            Verdict::kDifferentFailure);
  plan_.abort_message = Text("cannot open /home/ada/in.txt at 0x7ffe12345678, code 7");
  EXPECT_EQ(On(Aborted("cannot open /tmp/x/in.txt at 0x55d0a0, code 12")), Verdict::kReproduced);
  EXPECT_EQ(On(Aborted("cannot open /tmp/x/out.txt at 0x55d0a0, code 12")), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Aborted("cannot open /tmp/x/in.txt at 0x55d0a0, code")), Verdict::kDifferentFailure);
}

Observed Found(const char* checker, const char* finding, uint64_t own_pc = kPlace) {
  Observed observed = Died(SIGABRT, own_pc);
  SetFinding(&observed.finding, checker, finding);
  return observed;
}

// A sanitizer stops a program before the bad access. It would have failed there.
TEST_F(Recorded, IsReproducedByAFindingAtItsPlace) {
  plan_.flags = plan::kRebuilt;
  EXPECT_EQ(On(Found(kAddressSanitizer, "heap-use-after-free")), Verdict::kReproduced);
  EXPECT_EQ(text(), "AddressSanitizer: heap-use-after-free in Parse(char const*)");
  EXPECT_EQ(On(Found(kAddressSanitizer, "heap-use-after-free", kPlace + 8)), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Found(kUndefinedSanitizer, "load of null pointer of type 'int'")), Verdict::kReproduced);
  EXPECT_EQ(text(), "UndefinedBehaviorSanitizer: load of null pointer of type 'int' in Parse(char const*)");
  EXPECT_EQ(On(Found(kLibraryAssertion, "Assertion '__n < this->size()' failed")), Verdict::kReproduced);
  // What is no access is another failure, though it may have led to the recorded one.
  EXPECT_EQ(On(Found(kUndefinedSanitizer, "signed integer overflow: 2147483647 + 1 cannot be represented")),
            Verdict::kDifferentFailure);
  EXPECT_EQ(On(Found(kAddressSanitizer, "double-free")), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Found(kAddressSanitizer, "calloc-overflow")), Verdict::kDifferentFailure);
}

TEST_F(Recorded, FindingHasToFitItsSignal) {
  plan_.flags = plan::kRebuilt;
  plan_.signal = SIGFPE;
  EXPECT_EQ(On(Found(kUndefinedSanitizer, "division by zero")), Verdict::kReproduced);
  EXPECT_EQ(On(Found(kAddressSanitizer, "heap-use-after-free")), Verdict::kDifferentFailure);
  plan_.signal = SIGABRT;
  EXPECT_EQ(On(Found(kAddressSanitizer, "double-free")), Verdict::kDifferentFailure) << "an abort of its own";
  plan_.abort_message = Text("free(): double free detected in tcache 2");
  EXPECT_EQ(On(Found(kAddressSanitizer, "double-free")), Verdict::kReproduced);
  EXPECT_EQ(On(Found(kAddressSanitizer, "heap-buffer-overflow")), Verdict::kReproduced);
  EXPECT_EQ(On(Found(kUndefinedSanitizer, "division by zero")), Verdict::kDifferentFailure);
  plan_.failure_kind = abi::FailureKind::kException;
  EXPECT_EQ(On(Found(kAddressSanitizer, "double-free")), Verdict::kDifferentFailure);
}

// A sanitizer that was told to go on.
TEST_F(Recorded, FindingIsAFailureThoughTheCallReturned) {
  plan_.flags = plan::kRebuilt;
  Observed observed = Found(kUndefinedSanitizer, "load of null pointer of type 'int'");
  observed.ending = Ending::kReturned;
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
  EXPECT_EQ(text(), "returned, but UndefinedBehaviorSanitizer had found: load of null pointer of type 'int'");
  observed.ending = Ending::kExited;
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
  EXPECT_EQ(text(), "exit(0), but UndefinedBehaviorSanitizer had found: load of null pointer of type 'int'");
}

// Its heap is the dead process's: what AddressSanitizer says of blocks that it does not know is no finding.
TEST_F(Recorded, FindingOfARecordedBlockSaysNothing) {
  plan_.flags = plan::kRebuilt;
  EXPECT_EQ(On(Found(kAddressSanitizer, "bad-free")), Verdict::kCannotReplay);
}

// Where the old build aborts, the fixed one may throw, and in a replay nobody need catch that.
TEST_F(Recorded, AbortIsNotReproducedByAnExceptionOfAnotherBuild) {
  plan_.signal = SIGABRT;
  Observed observed = Aborted("");
  observed.terminated = true;
  snprintf(observed.exception_type, sizeof observed.exception_type, "Full");
  EXPECT_EQ(On(observed), Verdict::kReproduced);
  plan_.flags = plan::kRebuilt;
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
  EXPECT_EQ(text(), "uncaught Full (in Parse(char const*))");
}

// A library's failure, where no frame of the program's own is known.
TEST_F(Recorded, IsReproducedAtTheSameInstructionWhereThereIsNoPlace) {
  plan_.place_pc = 0;
  plan_.failure_pc = kPlace + 0x9000;
  Observed observed = Died(SIGSEGV, kPlace);
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
  observed.pc = kPlace + 0x9000;
  EXPECT_EQ(On(observed), Verdict::kReproduced);
}

// On another build the instructions are others: the function counts.
TEST_F(Recorded, IsReproducedInTheSameFunctionOfAnotherBuild) {
  plan::Module recorded{};
  recorded.flags = plan::kOtherBuild;
  LiveModule module;
  module.recorded = &recorded;
  module.recorded_range = {0x400000, 0x500000};
  module.live = {0x700000, 0x800000};
  g_rebuilt = &module;
  plan_.place_start = 0x1200;
  plan_.place_end = 0x1280;
  EXPECT_EQ(On(Died(SIGSEGV, 0x701200)), Verdict::kReproduced);
  EXPECT_EQ(On(Died(SIGSEGV, 0x7011ff)), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Died(SIGSEGV, 0x701281)), Verdict::kDifferentFailure);
  module.recorded_range = {0x500000, 0x600000};
  EXPECT_EQ(On(Died(SIGSEGV, 0x701200)), Verdict::kDifferentFailure) << "the place is in another module";
  g_rebuilt = nullptr;
}

TEST_F(Recorded, ExceptionIsReproducedByItsTypeAndText) {
  plan_.failure_kind = abi::FailureKind::kException;
  plan_.signal = SIGABRT;
  plan_.exception_type = Text("Full");
  plan_.exception_what = Text("no room");
  const auto thrown = [](const char* type, const char* what) {
    Observed observed = Died(SIGABRT, kPlace + 0x70);  // wherever it came from
    snprintf(observed.exception_type, sizeof observed.exception_type, "%s", type);
    snprintf(observed.exception_what, sizeof observed.exception_what, "%s", what);
    return observed;
  };
  EXPECT_EQ(On(thrown("Full", "no room")), Verdict::kReproduced);
  EXPECT_EQ(On(thrown("Empty", "no room")), Verdict::kDifferentFailure);
  EXPECT_EQ(On(thrown("Full", "no bytes")), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Died(SIGABRT, kPlace)), Verdict::kDifferentFailure);
}

TEST_F(Recorded, ReportIsReproducedByReasonAndPlace) {
  plan_.failure_kind = abi::FailureKind::kReported;
  plan_.reason = Text("queue is full");
  const auto reported = [](const char* reason, uint64_t own_pc) {
    Observed observed = Died(0, own_pc);
    observed.ending = Ending::kReported;
    snprintf(observed.reason, sizeof observed.reason, "%s", reason);
    return observed;
  };
  EXPECT_EQ(On(reported("queue is full", kPlace)), Verdict::kReproduced);
  EXPECT_EQ(text(), "reported \"queue is full\"");
  EXPECT_EQ(On(reported("queue is empty", kPlace)), Verdict::kDifferentFailure);
  EXPECT_EQ(On(reported("queue is full", kPlace + 8)), Verdict::kDifferentFailure);
  EXPECT_EQ(On(Died(SIGSEGV, kPlace)), Verdict::kDifferentFailure);
}

// What died of the signal is not what was killed by it from outside.
TEST_F(Recorded, SignalFromOutsideIsAnotherFailure) {
  Observed observed = Died(SIGSEGV, kPlace);
  observed.ending = Ending::kKilled;
  observed.status = SIGSEGV;
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
  EXPECT_EQ(text(), "killed by SIGSEGV");
}

// What lies in dead locals differs between builds: a call that gets to one and returns is no proof of a fix.
TEST_F(Recorded, ReturnDoesNotCountInAnotherBuildIfAnArgumentIsDangling) {
  Observed observed{};
  observed.ending = Ending::kReturned;
  frame_.dangling = Text("entry");
  EXPECT_EQ(On(observed), Verdict::kReturned);
  plan_.flags = plan::kRebuilt;
  EXPECT_EQ(On(observed), Verdict::kHarmless);
  EXPECT_THAT(text(), testing::HasSubstr("`entry` leads to a local of a function that has returned"));
  frame_.dangling = 0;
  EXPECT_EQ(On(observed), Verdict::kReturned);
}

// In any build nothing good can come of such an access, though this one returned.
TEST_F(Recorded, GoodEndDoesNotCountIfTheRecordedPlaceUsedDeadMemory) {
  Observed observed{};
  observed.ending = Ending::kReturned;
  plan_.flags = plan::kRebuilt;
  snprintf(world.place.where, sizeof world.place.where, "parser.cc:86");
  observed.place = {true, false, 14, {}};
  EXPECT_EQ(On(observed), Verdict::kReturned);
  EXPECT_EQ(text(), "returned; reached parser.cc:86 14 times, none failed");
  observed.place.bad = {BadAccess::kFreed, 85, 0x602010, 0x602008, 24};
  EXPECT_EQ(On(observed), Verdict::kHarmless);
  EXPECT_EQ(text(),
            "returned, but parser.cc:85 used a freed heap block of 24 bytes at 0x602008: the bad access did no harm in "
            "this build");
  observed.ending = Ending::kExited;
  EXPECT_EQ(On(observed), Verdict::kHarmless);
  observed.place.known = false;
  EXPECT_EQ(On(observed), Verdict::kExited);
  EXPECT_EQ(text(), "exit(0)");
}

TEST_F(Recorded, GoodEndSaysHowOftenItCameToThePlace) {
  Observed observed{};
  observed.ending = Ending::kReturned;
  plan_.flags = plan::kRebuilt;
  snprintf(world.place.where, sizeof world.place.where, "parser.cc:86");
  observed.place.known = true;
  On(observed);
  EXPECT_EQ(text(), "returned; did not come to parser.cc:86");
  observed.place.reached = 1;
  On(observed);
  EXPECT_EQ(text(), "returned; reached parser.cc:86 1 time, none failed");
  observed.place = {true, true, 5000, {}};
  On(observed);
  EXPECT_EQ(text(), "returned; reached parser.cc:86 more than 5000 times, none failed");
}

// What callers pass for a parameter that was added is not known: only the recorded failure says something.
TEST_F(Recorded, NothingElseCountsIfAParameterHasNoValue) {
  Observed returned{};
  returned.ending = Ending::kReturned;
  plan_.flags = plan::kRebuilt;
  frame_.in_place = Text("shop::Parse in place of Parse(char const*)");
  EXPECT_EQ(On(returned), Verdict::kReturned);
  EXPECT_EQ(text(), "returned (calls shop::Parse in place of Parse(char const*))");
  frame_.added = Text("`strict`");
  EXPECT_EQ(On(returned), Verdict::kMissing);
  EXPECT_EQ(On(Died(SIGFPE, kPlace)), Verdict::kMissing);
  EXPECT_THAT(text(), testing::HasSubstr("does not have a value of `strict`"));
}

TEST_F(Recorded, ReturnDoesNotCountIfItCouldNotGetToTheBug) {
  Observed observed{};
  observed.ending = Ending::kReturned;
  snprintf(observed.absent, sizeof observed.absent, "/home/ada/in.txt");
  EXPECT_EQ(On(observed), Verdict::kMissing);
  EXPECT_EQ(text(), "returned, but this replay does not have /home/ada/in.txt");
  observed.absent[0] = 0;
  plan_.flags = plan::kRebuilt | plan::kStackOverflow;
  frame_.entry_sp = kStack + 300;
  EXPECT_EQ(On(observed), Verdict::kHarmless);
  frame_.entry_sp = kStack + (1 << 20);
  EXPECT_EQ(On(observed), Verdict::kReturned);
}

// A program that does not get its input may fail in a way of its own.
TEST_F(Recorded, AnotherFailureDoesNotCountIfTheInputWasMissing) {
  Observed observed = Died(SIGFPE, kPlace);
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
  snprintf(observed.not_found, sizeof observed.not_found, "rules.txt");
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure) << "the dead process may not have had it";
  snprintf(observed.absent, sizeof observed.absent, "/home/ada/in.txt");
  EXPECT_EQ(On(observed), Verdict::kMissing);
  EXPECT_THAT(text(), testing::HasSubstr("SIGFPE in "));
  EXPECT_THAT(text(), testing::HasSubstr(", but this replay does not have /home/ada/in.txt"));
}

// An exit may come of what a replay lacks: then it says nothing.
TEST_F(Recorded, ExitCountsOnlyIfAllWasThere) {
  Observed observed{};
  observed.ending = Ending::kExited;
  snprintf(observed.not_found, sizeof observed.not_found, "rules.txt");
  EXPECT_EQ(On(observed), Verdict::kExited) << "a program that ends well has not missed it";
  observed.status = 1;
  EXPECT_EQ(On(observed), Verdict::kMissing);
  EXPECT_EQ(text(), "exit(1), but this replay does not have rules.txt");
  observed.status = 0;
  snprintf(observed.absent, sizeof observed.absent, "descriptor 5 (socket:[12])");
  EXPECT_EQ(On(observed), Verdict::kMissing);
  EXPECT_EQ(text(), "exit(0), but this replay does not have descriptor 5 (socket:[12])");
}

// Of an exception that leaves the function, by its type and its bases.
TEST_F(Recorded, ExceptionCountsAsCaughtIfARecordedCallerCatchesIt) {
  Observed observed = Aborted("");
  observed.terminated = true;
  snprintf(observed.exception_type, sizeof observed.exception_type, "7Problem");
  snprintf(observed.exception_bases, sizeof observed.exception_bases, "St13runtime_error St9exception ");
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure) << "nobody catches anything";
  for (const char* type : {"7Problem", "St13runtime_error", "St9exception", ""}) {
    Catch(type);
    EXPECT_EQ(On(observed), Verdict::kCaught) << type;
  }
  for (const char* type : {"7Problems", "9exception", "St13runtime_erro", "Problem"}) {
    Catch(type);
    EXPECT_EQ(On(observed), Verdict::kDifferentFailure) << type;
  }
}

// It may have been thrown for want of a file.
TEST_F(Recorded, ExceptionDoesNotCountAsCaughtIfSomethingWasMissing) {
  Observed observed = Aborted("");
  observed.terminated = true;
  snprintf(observed.exception_type, sizeof observed.exception_type, "7Problem");
  Catch("7Problem");
  EXPECT_EQ(On(observed), Verdict::kCaught);
  snprintf(observed.not_found, sizeof observed.not_found, "rules.txt");
  EXPECT_EQ(On(observed), Verdict::kMissing);
  EXPECT_THAT(text(), testing::HasSubstr("but this replay does not have rules.txt"));
  observed.not_found[0] = 0;
  snprintf(observed.absent, sizeof observed.absent, "descriptor 3 (/in)");
  EXPECT_EQ(On(observed), Verdict::kMissing);
}

// A build in which nothing throws has no handlers: then those of this build tell.
TEST_F(Recorded, ExceptionCountsAsCaughtIfACallerCatchesItInThisBuild) {
  Observed observed = Aborted("");
  observed.terminated = true;
  snprintf(observed.exception_type, sizeof observed.exception_type, "7Problem");
  snprintf(observed.exception_bases, sizeof observed.exception_bases, "St9exception ");
  for (const char* types : {"i St9exception ", "7Problem ", "i * "}) {
    snprintf(g_answer.caught, sizeof g_answer.caught, "%s", types);
    EXPECT_EQ(On(observed), Verdict::kCaught) << types;
  }
  snprintf(g_answer.caught, sizeof g_answer.caught, "i 7Problems ");
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
  g_answer = {};
}

// That is a fix of an exception that nobody caught. A handler that was there before did not help: it may have been
// thrown by a destructor.
TEST_F(Recorded, ExceptionThatNobodyCaughtIsFixedByAHandlerOfThisBuild) {
  plan_.failure_kind = abi::FailureKind::kException;
  plan_.signal = SIGABRT;
  plan_.exception_type = Text("7Problem");
  Observed observed = Aborted("");
  observed.terminated = true;
  snprintf(observed.exception_type, sizeof observed.exception_type, "7Problem");
  snprintf(g_answer.caught, sizeof g_answer.caught, "7Problem ");
  EXPECT_EQ(On(observed), Verdict::kReproduced) << "the build that crashed has no handlers but those recorded";
  plan_.flags = plan::kRebuilt;
  EXPECT_EQ(On(observed), Verdict::kCaught);
  Catch("7Problem");
  EXPECT_EQ(On(observed), Verdict::kReproduced);
  g_answer = {};
  EXPECT_EQ(On(observed), Verdict::kReproduced);
}

// What the tool says counts on another build alone, where it is known.
TEST_F(Recorded, PlaceInAnotherBuildIsThatInTheSource) {
  plan_.flags = plan::kRebuilt;
  g_answer.same = plan::Same::kYes;
  EXPECT_EQ(On(Died(SIGSEGV, kPlace + 800)), Verdict::kReproduced);
  g_answer.same = plan::Same::kNo;
  EXPECT_EQ(On(Died(SIGSEGV, kPlace)), Verdict::kDifferentFailure);
  plan_.flags = 0;
  EXPECT_EQ(On(Died(SIGSEGV, kPlace)), Verdict::kReproduced);
  g_answer = {};
}

TEST_F(Recorded, OtherEndingsHaveVerdictsOfTheirOwn) {
  Observed observed{};
  observed.ending = Ending::kReturned;
  EXPECT_EQ(On(observed), Verdict::kReturned);
  observed.ending = Ending::kTimedOut;
  EXPECT_EQ(On(observed), Verdict::kTimedOut);
  EXPECT_EQ(text(), "no outcome within 2 s of processor time");
  observed.ending = Ending::kWaited;
  EXPECT_EQ(On(observed), Verdict::kWaited);
  observed.ending = Ending::kExited;
  observed.status = 5;
  EXPECT_EQ(On(observed), Verdict::kExited);
  EXPECT_EQ(text(), "exit(5)");
  observed.ending = Ending::kKilled;
  observed.status = SIGKILL;
  EXPECT_EQ(On(observed), Verdict::kDifferentFailure);
}

// Whatever happened then, the function has not been called.
TEST_F(Recorded, CannotBeReplayedWhereAStreamCouldNotBeRewound) {
  Observed observed = Died(SIGSEGV, kPlace);
  observed.rewinding = true;
  EXPECT_EQ(On(observed), Verdict::kCannotReplay);
  EXPECT_EQ(text(), "a stream could not be rewound: SIGSEGV in Parse(char const*), address 0x0");
}

}  // namespace
}  // namespace recrash::replay
