// SIGSEGV in Finish at side_effect.cc:18
//
// Program  side_effect
// Crashed  TIME
// Report   side_effect-TIME-PROCESS
//
//      15 |   job->remaining = 0;
//      16 |   if (last == 0) return 0;
//      17 |   std::printf("%s: %d left\n", job->label, last);
//  >   18 |   return job->slots[last - 1];
//      19 | }
//      20 |
//      21 | NOINLINE int FinishAll(Job* jobs, int count) {
//
//   #0   Finish(job=Job {remaining = 0, s...)  side_effect.cc:18
//   #1   FinishAll(jobs=Job {remaining = 0, s..., count=3)  side_effect.cc:23
//   #2   main()  side_effect.cc:30
//   #3   __libc_start_call_main(...)  libc_start_call_main.h:58
//   #4   __libc_start_main_impl(...)  libc-start.c:360
//   #5   _start()
//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the recorded failure happens again. Made by recrash; yours to edit and keep.
#include <recrash/test.h>

struct Job;

// Frame 0: Finish, side_effect.cc:18.
// The function that failed: what it was given and what it made of it are both here.
TEST(CrashTest, Frame0_Finish) {
  recrash::Frame frame(0);
  frame.Depth(1);  // what its arguments point to is put back as it was on entry
  frame.Sealed();  // finds no files but those in the report
  auto* job = frame.Load<Job*>(1);  // Job {remaining = 0, slots = nullptr, label = "second"}
  RECRASH_EXPECT_FIXED(frame.Call(job));
}

// Frame 2: main, side_effect.cc:30.
// Calls frame 1: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame2_main) {
  recrash::Frame frame(2);
  frame.Sealed();  // finds no files but those in the report
  RECRASH_EXPECT_FIXED(frame.Call());
}
