// SIGSEGV in FormatName at random_crash.cc:18
//
// Program  random_crash
// Crashed  TIME
// Report   random_crash-TIME-PROCESS
//
//      15 |   __attribute__((noinline)) size_t FormatName(const char* name) {
//      16 |     ++greeted_;
//      17 |     line_ = greeting_ + ", ";
//  >   18 |     size_t length = strlen(name);
//      19 |     line_.append(name, length);
//      20 |     return line_.size();
//      21 |   }
//
//   #0   strlen(...)
//   #1   Greeter::FormatName(name=nullptr)  random_crash.cc:18
//   #2   Greeter::Greet(name=nullptr)  random_crash.cc:24
//   #3   main()  random_crash.cc:44
//   #4   __libc_start_call_main(...)  libc_start_call_main.h:58
//   #5   __libc_start_main_impl(...)  libc-start.c:360
//   #6   _start()
//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the recorded failure happens again. Made by recrash; yours to edit and keep.
#include <recrash/test.h>

namespace { struct Greeter; }

// Frame 1: Greeter::FormatName, random_crash.cc:18.
// The function that failed: what it was given and what it made of it are both here.
TEST(CrashTest, Frame1_Greeter_FormatName) {
  recrash::Frame frame(1);
  frame.Sealed();  // finds no files but those in the report
  auto* self = frame.Load<Greeter*>(1);  // Greeter {greeting_ = "Good morning", line_ = "Good morning, ", greeted_ = 2}
  const char* name = nullptr;
  RECRASH_EXPECT_FIXED(frame.Call(self, name));
}

// Frame 2: Greeter::Greet, random_crash.cc:24.
// Calls frame 1: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame2_Greeter_Greet) {
  recrash::Frame frame(2);
  frame.Sealed();  // finds no files but those in the report
  auto* self = frame.Load<Greeter*>(1);  // Greeter {greeting_ = "Good morning", line_ = "Good morning, ", greeted_ = 2}
  const char* name = nullptr;
  RECRASH_EXPECT_FIXED(frame.Call(self, name));
}
