#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/signal_safe/printable.h"
#include "recrash/replay.h"
#include "shadowstack/abi.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

bool IsRegister(const plan::Word& word) { return word.location <= static_cast<uint8_t>(abi::Location::kR10); }

bool IsStack(const plan::Word& word) { return word.location == static_cast<uint8_t>(abi::Location::kStack); }

// Each byte must come from some piece; pieces may come in any order.
bool Load(uint32_t index, uint32_t number, void* out, size_t size) {
  const plan::Frame* frame = FindFrame(index);
  if (!frame) return false;
  size_t known = 0;
  for (const plan::Word& word : WordsOf(*frame)) {
    if (word.parameter != number || word.source_offset >= size) continue;
    const size_t fits = size - word.source_offset < word.size ? size - word.source_offset : word.size;
    memcpy(static_cast<char*>(out) + word.source_offset, word.bytes, fits);
    known += fits;
  }
  return known >= size;
}

// What a test gives is for its next call alone: the words of the frame come back, so that the next test starts afresh.
void PutWordsBack() {
  if (!world.run.given) return;
  const auto words = WordsOf(*world.run.given);
  memcpy(words.first, world.run.words_before, words.count * sizeof(plan::Word));
  free(world.run.words_before);
  world.run.given = nullptr;
}

// Before the first Store.
void KeepWords(const plan::Frame& frame) {
  if (world.run.given == &frame) return;
  PutWordsBack();
  const auto words = WordsOf(frame);
  world.run.words_before = static_cast<plan::Word*>(malloc(words.count * sizeof(plan::Word)));
  if (!world.run.words_before) Problem("no memory for the arguments of a frame");
  memcpy(world.run.words_before, words.first, words.count * sizeof(plan::Word));
  world.run.given = &frame;
}

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

uint32_t Call(uint32_t index, const Start* start, char* text, size_t size) {
  const plan::Frame* frame = FindFrame(index);
  if (!frame) return static_cast<uint32_t>(Verdict::kCannotReplay);
  char outcome[2048];
  const Verdict verdict = RunFrame(*frame, *start, outcome, sizeof outcome);
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
};

// The C library's own: that of a sanitizer ends the process where it sees RTLD_DEEPBIND.
void* LoadLibrary(const char* path, int flags) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  using Load = void* (*)(const char*, int);
  const auto load = reinterpret_cast<Load>(libc ? dlsym(libc, "dlopen") : nullptr);
  return load ? load(path, flags) : dlopen(path, flags);
}

}  // namespace

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
