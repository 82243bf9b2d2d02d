// What a program adds to its reports (recrash.h): notes, files to attach, names of its logs. All of it lies in one
// table in the program's memory, whose address the collector gets.
//
// Nobody waits for a writer: a crash may come amid one, and a signal handler may write too. So each writing takes a
// free slot, and frees the older slot of that name when its own is complete. A reader takes the newest complete slot of
// each name.
#ifndef RECRASH_SHADOWSTACK_ADDITIONS_H_
#define RECRASH_SHADOWSTACK_ADDITIONS_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::abi {

enum class AdditionKind : uint32_t { kNote = 0, kAttachment = 1, kLog = 2 };
constexpr uint32_t kAdditionKinds = 3;
constexpr uint32_t kMostOf[kAdditionKinds] = {64, 16, 4};

// In the text, two strings, each with its NUL: the key of a note and its value; the absolute path of a file and
// nothing.
constexpr size_t kAdditionText = 1008;
constexpr size_t kMostKey = 63;                              // characters of a note's key
constexpr size_t kMostValue = kAdditionText - kMostKey - 2;  // of its value
constexpr size_t kMostPath = kAdditionText - 2;              // of a path
struct Addition {
  uint64_t number;  // the slot's state when it was written; orders additions
  AdditionKind kind;
  uint32_t cut;  // 1: key or value were longer
  char text[kAdditionText];
};

// What is kept of files: of a log its end, of attached files each and all together.
constexpr uint64_t kMostLogTail = 64 << 10;
constexpr uint64_t kMostAttached = 1 << 20;
constexpr uint64_t kMostAllAttached = 4 << 20;

// States of a slot; a greater one is the number of the writing that completed it.
constexpr uint64_t kFreeSlot = 0;
constexpr uint64_t kUnfinishedSlot = 1;

// More than kMostOf together: a new value stands beside the old one for a moment.
constexpr uint32_t kAdditionSlots = 96;

// What became of the question whether a report may be made (RECRASH_BEFORE_REPORT).
enum class Answer : uint32_t {
  kGiven = 0,     // or nobody asked
  kFailed = 1,    // the callback failed itself
  kTimedOut = 2,  // it took longer than the program said
};

constexpr uint32_t kAdditionsVersion = 1;
struct Additions {
  uint32_t version;
  uint32_t size;                  // of this struct
  uint64_t address;               // where it lies: these pages are in no report, and no part of the program
  uint64_t last;                  // writings so far
  uint32_t lost[kAdditionKinds];  // how many did not fit
  Answer answer;
  uint64_t states[kAdditionSlots];
  Addition slots[kAdditionSlots];
};

static_assert(sizeof(Addition) == 1024 && offsetof(Additions, states) == 40 && offsetof(Additions, slots) == 808);

}  // namespace recrash::abi

#endif  // RECRASH_SHADOWSTACK_ADDITIONS_H_
