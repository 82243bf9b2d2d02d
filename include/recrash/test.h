// What generated tests include. A test names a frame of the report, gives its arguments, and calls it; the frame's
// memory comes from the report that lies beside the test.
//
//   TEST(CrashTest, Frame0_FormatName) {
//     recrash::Frame frame(0);
//     frame.Sealed();                        // no files but those in the report
//     auto self = frame.Load<Greeter*>(1);   // this: Greeter {greeting_ = "hello"}
//     const char* name = nullptr;            // name
//     RECRASH_EXPECT_FIXED(frame.Call(self, name));
//   }
//
// Each Call runs in a process of its own, so that a crash is a failed test and not the end of the run; under a debugger
// it runs in place. A test ends in one of three ways:
//
//   it passes    The call returned, threw what a recorded caller catches, or left by exit; and no recorded file or
//                descriptor was missing that it read.
//   it fails     The recorded failure happened again, or the call ended in another failure. A test that does not end
//                fails, too.
//   it is        The call says nothing about the bug here: a file is missing, the function is not in this build, a
//   skipped      library is another one. A run in which each test was skipped fails, unless --allow-undecided is given.
//
// With `--expect=fail` the meaning turns round: the recorded failure must happen.
//
// C++17, header only; GoogleTest is included by this header.
#ifndef RECRASH_TEST_H_
#define RECRASH_TEST_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "recrash/replay.h"
#include "recrash/value.h"

namespace recrash {

// Any pointer whose type the test does not need to name.
struct Address {
  uint64_t value = 0;
  constexpr Address() = default;
  constexpr Address(std::nullptr_t) {}  // NOLINT: implicit, `nullptr` is an address
  constexpr explicit Address(uint64_t number) : value(number) {}
  explicit Address(const volatile void* pointer) : value(reinterpret_cast<uint64_t>(pointer)) {}
  friend bool operator==(Address a, Address b) { return a.value == b.value; }
  friend std::ostream& operator<<(std::ostream& out, Address address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address.value));
    return out << text;
  }
};

struct Outcome {
  Verdict verdict = Verdict::kCannotReplay;
  std::string text;  // one line: "returned", "SIGABRT: free(): invalid pointer", "no outcome within 10 s"
  uint32_t frame = 0;
};

namespace internal {

// Set once by recrash_test_main, before any test runs.
inline const ReplayInterface* replay = nullptr;
inline bool expect_failure = false;
inline bool allow_undecided = false;  // --allow-undecided: a run in which each test was skipped is no failure
inline bool ask_decided = false;      // --decided: the exit status says only whether a test was decided

// What a parameter of type T is handed over as: integers at full width, because clang's callees rely on an extension
// that the caller has made; everything else byte by byte.
template <typename T>
bool StoreArgument(uint32_t frame, uint32_t number, const T& argument) {
  static_assert(std::is_trivially_copyable_v<T>,
                "only trivially copyable arguments can be given; leave this one with recrash::AsRecorded");
  if constexpr (std::is_same_v<T, std::nullptr_t>) {
    const uint64_t zero = 0;
    return replay->store(frame, number, &zero, sizeof zero);
  } else if constexpr ((std::is_integral_v<T> || std::is_enum_v<T>) && sizeof(T) <= sizeof(int64_t)) {
    const int64_t wide = static_cast<int64_t>(argument);
    return replay->store(frame, number, &wide, sizeof wide);
  } else {
    return replay->store(frame, number, &argument, sizeof argument);
  }
}

inline bool StoreArgument(uint32_t, uint32_t, const AsRecordedArgument&) { return true; }

inline std::string FrameText(uint32_t frame) {
  const char* name = replay->frame_name(frame);
  return "frame " + std::to_string(frame) + (name && *name ? " (" + std::string(name) + ")" : std::string());
}

// "Suite.Test"; empty where none runs.
inline std::string RunningTest() {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return test ? std::string(test->test_suite_name()) + "." + test->name() : std::string();
}

// Where a person can go from here.
inline std::string DebugHint(uint32_t frame) {
  const char* report = replay->report_path();
  return "  to stop there in a debugger: recrash debug " + (report && *report ? std::string(report) + " " : "") +
         "--frame " + std::to_string(frame);
}

// What a call says about the bug.
enum class Says { kFixed, kStillFails, kNothing };

inline Says WhatSays(Verdict verdict) {
  switch (verdict) {
    case Verdict::kReturned:
    case Verdict::kCaught:
    case Verdict::kExited:
      return Says::kFixed;
    case Verdict::kReproduced:
    case Verdict::kDifferentFailure:
    case Verdict::kTimedOut:
      return Says::kStillFails;
    default:
      return Says::kNothing;
  }
}

// Why the test is skipped; empty: it is not.
inline std::string WhySkipped(const Outcome& outcome) {
  if (expect_failure || WhatSays(outcome.verdict) != Says::kNothing) return "";
  return FrameText(outcome.frame) + " says nothing about the bug here: " + outcome.text;
}

inline ::testing::AssertionResult IsFixed(const char*, const Outcome& outcome) {
  const std::string frame = FrameText(outcome.frame);
  if (expect_failure) {
    if (outcome.verdict == Verdict::kReproduced) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << replay->failure_text() << ": expected, but " << frame
                                         << " ended otherwise: " << outcome.text;
  }
  if (outcome.verdict == Verdict::kReproduced) {
    return ::testing::AssertionFailure() << replay->failure_text() << ": happens again when " << frame
                                         << " is called\n  now: " << outcome.text << "\n"
                                         << DebugHint(outcome.frame);
  }
  if (WhatSays(outcome.verdict) == Says::kStillFails) {
    return ::testing::AssertionFailure() << outcome.text << ": fails otherwise now when " << frame
                                         << " is called\n  recorded: " << replay->failure_text() << "\n"
                                         << DebugHint(outcome.frame);
  }
  if (outcome.verdict != Verdict::kReturned || outcome.text != "returned") {
    ::testing::Test::RecordProperty("note", outcome.text);
    std::printf("note: %s: %s\n", frame.c_str(), outcome.text.c_str());
  }
  return ::testing::AssertionSuccess();
}

// Returns the exit status of a run that ended with `status`. CTest counts a skipped test as not failed, so a run that
// decided nothing must not look like a fixed bug.
inline int StatusOfRun(int status) {
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  int ran = 0, skipped = 0;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    ran += suite.test_to_run_count();
    skipped += suite.skipped_test_count();
  }
  if (ran > skipped) return ask_decided ? 0 : status;
  if (!ask_decided && (ran == 0 || allow_undecided)) return status;
  std::printf("recrash: error: no test was decided: %d of %d were skipped\n", skipped, ran);
  if (!ask_decided) std::printf("  --allow-undecided takes that for a success\n");
  return 1;
}

// Takes our own options out of the arguments; true when all is well.
inline bool TakeOptions(int* argc, char** argv) {
  int kept = 1;
  bool valid = true;
  for (int i = 1; i < *argc; ++i) {
    if (std::strcmp(argv[i], "--allow-undecided") == 0) {
      allow_undecided = true;
    } else if (std::strcmp(argv[i], "--decided") == 0) {
      ask_decided = true;
    } else if (std::strncmp(argv[i], "--expect=", 9) != 0) {
      argv[kept++] = argv[i];
    } else if (std::strcmp(argv[i] + 9, "fail") == 0) {
      expect_failure = true;
    } else if (std::strcmp(argv[i] + 9, "pass") == 0) {
      expect_failure = false;
    } else {
      std::fprintf(stderr, "recrash: error: %s is not understood\n  give --expect=pass or --expect=fail\n", argv[i]);
      valid = false;
    }
  }
  *argc = kept;
  argv[kept] = nullptr;
  return valid;
}

}  // namespace internal

// One frame of the report: its arguments as they were on entry, and the call.
class Frame {
 public:
  explicit Frame(uint32_t index) : index_(index) {
    if (!internal::replay) {
      problem_ = "the test was not started by recrash's launcher; run the crash_test executable";
    } else if (!internal::replay->has_frame(index)) {
      problem_ = "the report has no frame " + std::to_string(index) + " that can be called";
    }
  }

  // The call starts from memory as at the crash, unless one of these says otherwise.

  // 1: what the record holds of the arguments' fields is put back as on entry; 2: and of what such fields point to.
  Frame& Depth(uint32_t depth) {
    start_.depth = static_cast<uint8_t>(depth);
    return *this;
  }

  // Memory, heap and open files are as they were at the frame's entry, which the report has.
  Frame& FromEntry() {
    start_.from_entry = true;
    return *this;
  }

  // The call runs in an empty folder and finds no input files but those that the report holds.
  Frame& Sealed() {
    says_seal_ = start_.sealed = true;
    return *this;
  }

  // The call runs where the dead process stood, with the files that are there now.
  Frame& Unsealed() {
    says_seal_ = true;
    return *this;
  }

  // The stream that parameter `number` points to (a std::istream or what derives from it, a FILE) is put back to its
  // beginning before the call. At the crash it had been read; that it began there on entry is an assumption.
  Frame& Rewind(uint32_t number) {
    if (number <= kLastRewound) {
      start_.rewind |= uint64_t{1} << number;
    } else if (problem_.empty()) {
      problem_ = "parameter " + std::to_string(number) + " is no stream that can be rewound";
    }
    return *this;
  }

  // Parameter `number`, from 1 (`this` is 1), as it was on entry.
  template <typename T>
  T Load(uint32_t number) {
    static_assert(std::is_trivially_copyable_v<T>, "a parameter is loaded byte by byte");
    T value{};
    if (problem_.empty() && !internal::replay->load(index_, number, &value, sizeof value)) {
      problem_ =
          "the report does not hold " + std::to_string(sizeof value) + " bytes of parameter " + std::to_string(number);
    }
    return value;
  }

  // Gives a value to what an argument leads to: "options.level" of an object by value, "self->level" and "*table" where
  // the parameter is a pointer or a reference. Names are those of the recorded types. As long as the value is the
  // recorded one, memory stays as it was, byte for byte. A value that does not fit its type skips the test, which then
  // says why.
  Frame& Set(const std::string& path, Value value) {
    if (!problem_.empty()) return *this;
    if (internal::replay->is_recorded(index_, path.c_str(), DigestOf(value))) return *this;
    const Value& kept = values_.emplace_back(std::move(value));
    const GivenValue& given = lists_.emplace_back(1, kept.Give(&lists_)).front();
    if (const char* problem = internal::replay->give(index_, path.c_str(), &given))
      problem_ = "cannot set " + path + ": " + problem;
    return *this;
  }

  // Calls the function with its arguments in the source's order; those left out stay as recorded.
  template <typename... Arguments>
  Outcome Call(Arguments... arguments) {
    uint32_t number = 0;
    (Store(++number, arguments), ...);
    if (!problem_.empty()) return {Verdict::kCannotReplay, problem_, index_};
    const Start start = WholeStart();
    char text[2048] = "";
    const std::string test = internal::RunningTest();
    const auto verdict = static_cast<Verdict>(internal::replay->call(index_, &start, test.c_str(), text, sizeof text));
    return {verdict, text, index_};
  }

 private:
  // A test that says neither Sealed nor Unsealed comes from an older recrash, which left that and FromEntry to the
  // report.
  Start WholeStart() const {
    if (says_seal_) return start_;
    Start start = start_;
    const Start verified = internal::replay->verified_start(index_);
    start.sealed = verified.sealed;
    start.from_entry = start.from_entry || verified.from_entry;
    return start;
  }

  template <typename T>
  void Store(uint32_t number, const T& argument) {
    if (problem_.empty() && !internal::StoreArgument(index_, number, argument)) {
      problem_ = "parameter " + std::to_string(number) + " does not take a value of " +
                 std::to_string(sizeof argument) + " bytes";
    }
  }

  uint32_t index_;
  Start start_;
  bool says_seal_ = false;
  std::string problem_;
  std::deque<Value> values_;  // that the next call is given, where they stay
  std::deque<std::vector<GivenValue>> lists_;
};

}  // namespace recrash

// Passes, fails or skips the test, as the top of this file says. A failure says what, where, and how to look at it. Use
// it in the body of a test.
#define RECRASH_EXPECT_FIXED(...)                                                     \
  do {                                                                                \
    const ::recrash::Outcome recrash_outcome = (__VA_ARGS__);                         \
    const std::string recrash_why = ::recrash::internal::WhySkipped(recrash_outcome); \
    if (!recrash_why.empty()) {                                                       \
      ::testing::Test::RecordProperty("skipped_because", recrash_why);                \
      GTEST_SKIP() << recrash_why;                                                    \
    }                                                                                 \
    EXPECT_PRED_FORMAT1(::recrash::internal::IsFixed, recrash_outcome);               \
  } while (false)

// The version that the tests were built for; the replay library asks before it runs them.
extern "C" __attribute__((weak, visibility("default"))) uint32_t recrash_test_version() {
  return recrash::kReplayVersion;
}

// What the replay library runs. Weak, so that several test files can be linked into one library.
extern "C" __attribute__((weak, visibility("default"))) int recrash_test_main(int argc, char** argv,
                                                                              const recrash::ReplayInterface* replay) {
  if (replay->version != recrash::kReplayVersion) {
    std::fprintf(stderr,
                 "recrash: error: these tests need version %u of recrash's replay library, found version %u\n"
                 "  build the tests with the <recrash/test.h> of the recrash that runs them\n",
                 recrash::kReplayVersion, replay->version);
    return 2;
  }
  recrash::internal::replay = replay;
  recrash::internal::expect_failure = replay->expect_failure;
  if (!recrash::internal::TakeOptions(&argc, argv)) return 2;
  ::testing::InitGoogleTest(&argc, argv);
  return recrash::internal::StatusOfRun(RUN_ALL_TESTS());
}

#endif  // RECRASH_TEST_H_
