// What generated tests include. A test names a frame of the report, gives its arguments, and calls it; the frame's
// memory comes from the report that lies beside the test.
//
//   TEST(CrashTest, Frame0_FormatName) {
//     recrash::Frame frame(0);
//     auto* self = frame.Load<Greeter*>("this");   // Greeter {greeting_ = "hello"}
//     const char* name = nullptr;
//     RECRASH_EXPECT_FIXED(frame.Call(self, name));
//   }
//
// C++17, header only; GoogleTest is included by this header.
#ifndef RECRASH_TEST_H_
#define RECRASH_TEST_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace recrash {

// The C interface of librecrash_replay.so, which is in the process already when the test library is loaded.
struct ReplayInterface {
  uint32_t version;  // 1
  // Number by which the report knows the frame (Frame::index of the tools); false when the report has no such frame.
  bool (*has_frame)(uint32_t frame);
  // Entry-time bytes of parameter `number` (from 1) of a frame; false when they are not known.
  bool (*load)(uint32_t frame, uint32_t number, void* out, size_t size);
  // Overrides parameter `number` for the next call.
  bool (*store)(uint32_t frame, uint32_t number, const void* bytes, size_t size);
  // Restores, calls, reports. Returns a recrash::Verdict; `text` gets one line on what happened.
  uint32_t (*call)(uint32_t frame, uint32_t depth, char* text, size_t text_size);
  const char* (*failure_text)();  // "SIGSEGV in FormatName at greeter.cc:41"
  bool expect_failure;            // --expect=fail: the recorded failure must happen
};

}  // namespace recrash

#endif  // RECRASH_TEST_H_
