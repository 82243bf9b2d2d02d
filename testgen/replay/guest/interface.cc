#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/signal_safe/printable.h"
#include "recrash/replay.h"
#include "shadowstack/abi.h"
#include "testgen/replay/given/values.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

bool IsRegister(const plan::Word& word) { return word.location <= static_cast<uint8_t>(abi::Location::kR10); }

bool IsStack(const plan::Word& word) { return word.location == static_cast<uint8_t>(abi::Location::kStack); }

// Each byte must come from some piece; pieces may come in any order.
bool LoadWords(const plan::Frame& frame, uint32_t number, void* out, size_t size) {
  size_t known = 0;
  for (const plan::Word& word : WordsOf(frame)) {
    if (word.parameter != number || word.source_offset >= size) continue;
    const size_t fits = size - word.source_offset < word.size ? size - word.source_offset : word.size;
    memcpy(static_cast<char*>(out) + word.source_offset, word.bytes, fits);
    known += fits;
  }
  return known >= size;
}

bool Load(uint32_t index, uint32_t number, void* out, size_t size) {
  const plan::Frame* frame = FindFrame(index);
  return frame && LoadWords(*frame, number, out, size);
}

// What a test gives is for its next call alone: the words of the frame come back, so that the next test starts afresh.
void PutWordsBack() {
  world.given.count = 0;
  if (!world.run.given) return;
  const auto words = WordsOf(*world.run.given);
  memcpy(words.first, world.run.words_before, words.count * sizeof(plan::Word));
  free(world.run.words_before);
  world.run.given = nullptr;
}

}  // namespace

void KeepWords(const plan::Frame& frame) {
  if (world.run.given == &frame) return;
  if (world.run.given) PutWordsBack();
  const auto words = WordsOf(frame);
  world.run.words_before = static_cast<plan::Word*>(malloc(words.count * sizeof(plan::Word)));
  if (!world.run.words_before) Problem("no memory for the arguments of a frame");
  memcpy(world.run.words_before, words.first, words.count * sizeof(plan::Word));
  world.run.given = &frame;
}

namespace {

// A small value that sits alone in a register or stack slot is given at full width.
bool StoreWhole(plan::Word* word, const void* bytes, size_t size) {
  if (size > 8 || (!IsRegister(*word) && !IsStack(*word))) return false;
  memcpy(word->bytes, bytes, size);
  return true;
}

bool Store(uint32_t index, uint32_t number, const void* bytes, size_t size) {
  const plan::Frame* frame = FindFrame(index);
  if (!frame) return false;
  KeepWords(*frame);
  plan::Word* only = nullptr;
  size_t pieces = 0;
  size_t all = 0;
  for (plan::Word& word : WordsOf(*frame)) {
    if (word.parameter != number) continue;
    only = &word;
    ++pieces;
    all += word.size;
  }
  if (pieces == 0) return true;  // the callee does not look at it, so it was not kept and need not be given
  if (size > all) return pieces == 1 && StoreWhole(only, bytes, size);
  for (plan::Word& word : WordsOf(*frame)) {
    if (word.parameter != number || word.source_offset >= size) continue;
    const size_t fits = size - word.source_offset < word.size ? size - word.source_offset : word.size;
    memcpy(word.bytes, static_cast<const char*>(bytes) + word.source_offset, fits);
  }
  return true;
}

// ---- Values of parts of an argument ----

constexpr uint64_t kLargestArgument = 1024;  // in words of the call

char not_set[300];  // why the last value cannot be given

PlanShapes ShapesOfPlan() { return {world.bytes, world.plan}; }

const plan::Parameter* FindParameter(const plan::Frame& frame, const char* name) {
  for (const plan::Parameter& parameter : TableOf<plan::Parameter>(frame.parameters))
    if (strcmp(TextOf(parameter.name), name) == 0) return &parameter;
  return nullptr;
}

// The value goes into the call itself.
const char* GiveWords(const plan::Frame& frame, const plan::Parameter& parameter, const plan::ShapeMember& place,
                      const GivenValue& value) {
  uint8_t bytes[kLargestArgument];
  const uint64_t size = ShapesOfPlan().At(parameter.shape).size;
  if (size > sizeof bytes || !LoadWords(frame, parameter.number, bytes, size))
    return "the report does not hold all of this argument, or the function does not use it";
  if (const char* problem = PutValue(ShapesOfPlan(), Number(bytes), place, value, nullptr)) return problem;
  KeepWords(frame);
  for (plan::Word& word : WordsOf(frame)) {
    if (word.parameter != parameter.number || word.source_offset >= size) continue;
    const uint64_t fits = size - word.source_offset < word.size ? size - word.source_offset : word.size;
    memcpy(word.bytes, bytes + word.source_offset, fits);
  }
  return nullptr;
}

const char* GiveMemory(const plan::Frame& frame, const plan::Parameter& parameter, const plan::ShapeMember& place,
                       const GivenValue& value) {
  uint64_t address = 0;
  if (!LoadWords(frame, parameter.number, &address, sizeof address)) return "the report does not hold its address";
  if (address == 0) return "it is a null pointer";
  if (world.given.count == kMostGiven) return "a test can set at most 256 values";
  world.given.parts[world.given.count++] = {address, place, &value};
  return nullptr;
}

bool IsRecordedValue(const plan::Frame& frame, const char* path, uint64_t digest) {
  for (const plan::Literal& literal : TableOf<plan::Literal>(frame.literals))
    if (literal.digest == digest && strcmp(TextOf(literal.path), path) == 0) return true;
  return false;
}

const char* Give(const plan::Frame& frame, const char* text, const GivenValue* value) {
  if (frame.parameters.count == 0)
    return frame.inlined ? "the report does not say how its arguments lie: the program has it inlined"
                         : "the types of this build are not known: build it with -g";
  Path path(text);
  path.Next();
  const plan::Parameter* parameter = FindParameter(frame, path.word());
  if (!parameter) {
    snprintf(not_set, sizeof not_set, "the function has no parameter `%s`", path.word());
    return not_set;
  }
  const PlanShapes shapes = ShapesOfPlan();
  const plan::Shape& shape = shapes.At(parameter->shape);
  const bool is_address = shape.kind == ShapeKind::kAddress;
  plan::ShapeMember place = PlaceOf(is_address ? shape.element : parameter->shape);
  if (!FollowPath(shapes, &path, &place, not_set, sizeof not_set)) return not_set;
  if (!Fits(shapes, place, *value, not_set, sizeof not_set)) return not_set;
  if (!world.given.allocate) {
    void* allocate = dlsym(RTLD_DEFAULT, "_Znwm");
    if (!allocate) allocate = dlsym(RTLD_DEFAULT, "malloc");
    world.given.allocate = reinterpret_cast<Allocator>(allocate);
  }
  return is_address || parameter->indirect ? GiveMemory(frame, *parameter, place, *value)
                                           : GiveWords(frame, *parameter, place, *value);
}

// A test has its own limit; the tool ends it and answers.
constexpr double kLongestTest = 3600;

bool SaysFixed(Verdict verdict) {
  return verdict == Verdict::kReturned || verdict == Verdict::kExited || verdict == Verdict::kCaught;
}

// What says something about the bug.
bool Decides(Verdict verdict) {
  return SaysFixed(verdict) || verdict == Verdict::kReproduced || verdict == Verdict::kDifferentFailure ||
         verdict == Verdict::kTimedOut;
}

// Has the tool run the test in the twin, since this build does not have the frame's function. Returns what it said of
// the frame there.
Verdict RunInTwin(const plan::Frame& frame, const char* test, char* text, size_t size) {
  snprintf(text, size, "%s", TextOf(frame.problem));
  if (!world.run.inquiries || !*test || strlen(test) >= sizeof plan::InTwin::test) return Verdict::kCannotReplay;
  plan::InTwin& in_twin = world.run.inquiries->in_twin;
  in_twin.frame = frame.index;
  CopyText(in_twin.test, sizeof in_twin.test, test);
  if (!Ask(&in_twin.state, kLongestTest)) return Verdict::kCannotReplay;
  const bool decided = Decides(in_twin.verdict);
  if (decided) {
    snprintf(text, size, "%s (in the twin: this build has no such function)", in_twin.text);
  } else {
    snprintf(text, size, "%s; in the twin: %s", TextOf(frame.problem), in_twin.text);
  }
  return decided ? in_twin.verdict : Verdict::kCannotReplay;
}

// In the twin. Of several calls of a frame the first counts that does not say that the bug is gone.
void TellOutside(const plan::Frame& frame, Verdict verdict, const char* text) {
  if (!world.run.inquiries) return;
  plan::InTwin& in_twin = world.run.inquiries->in_twin;
  if (in_twin.state == plan::kAnswered && in_twin.frame == frame.index && !SaysFixed(in_twin.verdict)) return;
  in_twin.frame = frame.index;
  in_twin.verdict = verdict;
  CopyText(in_twin.text, sizeof in_twin.text, text);
  __atomic_store_n(&in_twin.state, plan::kAnswered, __ATOMIC_RELEASE);
}

uint32_t Call(uint32_t index, const Start* start, const char* test, char* text, size_t size) {
  const plan::Frame* frame = FindFrame(index);
  if (!frame) return static_cast<uint32_t>(Verdict::kCannotReplay);
  char outcome[2048];
  const Verdict verdict = frame->is_gone && Has(plan::kHasTwin) ? RunInTwin(*frame, test, outcome, sizeof outcome)
                                                                : RunFrame(*frame, *start, outcome, sizeof outcome);
  if (Has(plan::kIsTwin)) TellOutside(*frame, verdict, outcome);
  PutWordsBack();
  CopyPrintable(text, size, outcome, strlen(outcome));  // a test prints it
  return static_cast<uint32_t>(verdict);
}

const char* FrameName(uint32_t index) {
  const plan::Frame* frame = FindFrame(index);
  return frame ? TextOf(frame->name) : "";
}

Start VerifiedStart(uint32_t index) {
  const plan::Frame* frame = FindFrame(index);
  return frame ? frame->start : Start();
}

// The test of a function that this build does not have is run again, whole, in the twin: the value is given there.
const char* GiveHereOrInTwin(uint32_t index, const char* path, const GivenValue* value) {
  const plan::Frame* frame = FindFrame(index);
  if (!frame) return "the report has no such frame";
  if (frame->is_gone) return nullptr;
  const char* problem = Give(*frame, path, value);
  if (problem && Has(plan::kIsTwin)) {
    char text[sizeof plan::InTwin::text];
    snprintf(text, sizeof text, "cannot set %s: %s", path, problem);
    TellOutside(*frame, Verdict::kCannotReplay, text);  // the test makes no call
  }
  return problem;
}

const ReplayInterface kInterface = {
    kReplayVersion,
    [](uint32_t index) {
      PutWordsBack();
      return FindFrame(index) != nullptr;
    },
    Load,
    Store,
    Call,
    [] { return TextOf(world.plan->failure_text); },
    false,
    FrameName,
    [] { return TextOf(world.plan->report_path); },
    VerifiedStart,
    [](uint32_t index, const char* path, uint64_t digest) {
      const plan::Frame* frame = FindFrame(index);
      return frame && IsRecordedValue(*frame, path, digest);
    },
    GiveHereOrInTwin,
};

// The C library's own: that of a sanitizer ends the process where it sees RTLD_DEEPBIND.
void* LoadLibrary(const char* path, int flags) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  using Load = void* (*)(const char*, int);
  const auto load = reinterpret_cast<Load>(libc ? dlsym(libc, "dlopen") : nullptr);
  return load ? load(path, flags) : dlopen(path, flags);
}

}  // namespace

bool PutGiven() {
  Observed& observed = *world.run.observed;
  for (uint32_t i = 0; i < world.given.count; ++i) {
    const GivenPart& part = world.given.parts[i];
    CopyText(observed.not_given, sizeof observed.not_given, "the program's allocator failed");
    const char* problem = PutValue(ShapesOfPlan(), part.object, part.place, *part.value, world.given.allocate);
    CopyText(observed.not_given, sizeof observed.not_given, problem);
    if (problem) return false;
  }
  return true;
}

int RunTestLibrary(int argc, char** argv) {
  const char* path = TextOf(world.plan->test_library);
  // DEEPBIND and LOCAL keep the library's GoogleTest apart from one that the program may contain.
  void* library = LoadLibrary(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library) Problem("cannot load the tests: %s", dlerror());
  using TestVersion = uint32_t (*)();
  const auto test_version = reinterpret_cast<TestVersion>(dlsym(library, "recrash_test_version"));
  using TestMain = int (*)(int, char**, const ReplayInterface*);
  const auto test_main = reinterpret_cast<TestMain>(dlsym(library, "recrash_test_main"));
  if (!test_main) Problem("%s has no recrash_test_main; its sources must include <recrash/test.h>", path);
  if (const uint32_t version = test_version ? test_version() : 1; version != kReplayVersion) {
    Problem(
        "%s was built with version %u of <recrash/test.h>, this replay library needs version %u\n"
        "  build the tests again",
        path, version, kReplayVersion);
  }
  const int status = test_main(argc, argv, &kInterface);
  fflush(nullptr);
  return status;
}

}  // namespace recrash::replay
