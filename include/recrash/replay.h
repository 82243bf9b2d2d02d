// What generated tests, the library in the test process and the tools share: what a replay starts from, how it ended,
// and the functions by which a test asks for one. C++17, and nothing but the C library's types.
#ifndef RECRASH_REPLAY_H_
#define RECRASH_REPLAY_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash {

enum class Verdict : uint32_t {
  kCannotReplay = 0,
  kReproduced = 1,  // the same failure in the same place
  kDifferentFailure = 2,
  kReturned = 3,
  kExited = 4,
  kTimedOut = 5,
  kUnstable = 6,   // of verification, not of a replay: some of several replays reproduced, others did not
  kCaught = 7,     // threw an exception that a recorded caller catches
  kWaited = 8,     // no end, and no processor time used: it waits for something that the replay does not have
  kMissing = 9,    // came to an end, and something that was recorded is not there: a file, a descriptor
  kHarmless = 10,  // returned in another build, from a state in which the bug may do no harm there
};

// The replay was given up; each costs as much as all others together.
inline bool HadNoEnd(Verdict verdict) { return verdict == Verdict::kTimedOut || verdict == Verdict::kWaited; }

// What a replay of a frame starts from.
struct Start {
  uint8_t depth = 0;        // the fields of the record up to this depth are put back as on entry; 0: none
  bool from_entry = false;  // memory as at the frame's entry, instead of as at the crash
  bool sealed = false;      // in an empty folder, with no inputs but those that the report holds
  uint64_t rewind = 0;      // bit n: the stream that parameter n points to is put back to its beginning
};
static_assert(sizeof(Start) == 16, "a Start goes from one process to another as it is");

// Parameters are counted from 1; a Start has no room to rewind later ones than this.
constexpr uint32_t kLastRewound = 63;

enum class ValueKind : uint32_t {
  kAsRecorded = 0,
  kNumber = 1,
  kBool = 2,
  kCharacter = 3,
  kReal = 4,
  kText = 5,
  kList = 6,
  kNothing = 7,  // std::nullopt
  kNull = 8,     // nullptr
};

// A value that a test gives to a part of an argument (recrash/value.h).
struct GivenValue {
  ValueKind kind;
  bool is_negative;  // of the number
  uint64_t number;   // kNumber, kBool, kCharacter: two's complement
  double real;
  const char* text;  // kText: `size` bytes and a NUL
  uint64_t size;
  const GivenValue* items;  // kList: `size` of them
};

// Grows with each change of ReplayInterface. Tests and replay library have to be of one version: each side checks.
constexpr uint32_t kReplayVersion = 5;

// The C interface of librecrash_replay.so, which is in the process already when the test library is loaded.
struct ReplayInterface {
  uint32_t version;  // kReplayVersion of the library
  // Number by which the report knows the frame (Frame::index of the tools); false when the report has no such frame.
  bool (*has_frame)(uint32_t frame);
  // Entry-time bytes of parameter `number` (from 1) of a frame; false when they are not known.
  bool (*load)(uint32_t frame, uint32_t number, void* out, size_t size);
  // Overrides parameter `number` for the next call. An integer may come as eight bytes, extended by its sign: the
  // callee takes as many as it wants.
  bool (*store)(uint32_t frame, uint32_t number, const void* bytes, size_t size);
  // Restores, calls, reports. Returns a Verdict; `text` gets one line on what happened. If the program does not have
  // the function and there is a twin, `test` ("Suite.Test") runs there, and what it said of the frame is returned.
  uint32_t (*call)(uint32_t frame, const Start* start, const char* test, char* text, size_t text_size);
  const char* (*failure_text)();              // "SIGSEGV in FormatName at greeter.cc:41"
  bool expect_failure;                        // --expect=fail: the recorded failure must happen
  const char* (*frame_name)(uint32_t frame);  // "Greeter::Greet(char const*)"
  const char* (*report_path)();               // "" when it is not known
  // From what the frame reproduced when it was verified, as the report has it.
  Start (*verified_start)(uint32_t frame);
  // Whether recrash wrote the value of this digest (recrash/value.h) into the test for this part of an argument.
  bool (*is_recorded)(uint32_t frame, const char* path, uint64_t digest);
  // Gives the part another value for the next call: until then, all that `value` points to must live. Returns null, or
  // why it cannot be given.
  const char* (*give)(uint32_t frame, const char* path, const GivenValue* value);
};

}  // namespace recrash

#endif  // RECRASH_REPLAY_H_
