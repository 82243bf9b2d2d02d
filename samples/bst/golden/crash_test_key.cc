// uncaught std::bad_variant_access (std::get: wrong index for variant) in Compare at bst.cc:72
//
// Program  bst
// Crashed  TIME
// Report   bst-TIME-PROCESS
// Thrown   std::bad_variant_access {_M_reason = "std::get: wrong index for variant"}
//
//      69 |       return x < y ? -1 : x > y;
//      70 |     }
//      71 |     return std::get<std::string>(a).compare(std::get<std::string>(b));
//  >   72 |   }
//      73 |
//      74 |   NOINLINE static long Decode(char letter, Encoding encoding) {
//      75 |     switch (encoding) {
//
//   #0   Tree::Compare(a=std::variant<long, st..., b=std::variant<long, st...)  bst.cc:72
//   #1   Tree::Contains(key=std::variant<long, st...)  bst.cc:40
//   #2   main(argc=2, argv=&"PATH...)  bst.cc:104
//   #3   __libc_start_call_main(...)  libc_start_call_main.h:58
//   #4   __libc_start_main_impl(...)  libc-start.c:360
//   #5   _start()
//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the recorded failure happens again. Made by recrash; yours to edit and keep.
#include <recrash/test.h>

struct Key;
struct Tree;

// Frame 0: Tree::Compare, bst.cc:72.
// The function that failed: what it was given and what it made of it are both here.
TEST(CrashTest, Frame0_Tree_Compare) {
  recrash::Frame frame(0);
  frame.Sealed();  // finds no files but those in the report
  auto* a = frame.Load<const Key*>(1);  // std::variant<long, std::string>: std::string "sixty"
  auto* b = frame.Load<const Key*>(2);  // std::variant<long, std::string>: long 50
  RECRASH_EXPECT_FIXED(frame.Call(a, b));
}

// Frame 1: Tree::Contains, bst.cc:40.
// Hands `key` on to frame 0 as `a`: a fix here or there shows in this test.
TEST(CrashTest, Frame1_Tree_Contains) {
  recrash::Frame frame(1);
  frame.Sealed();  // finds no files but those in the report
  // Tree {
  //   root_ = &KeyNode {
  //     key = long 50,
  //     left = &KeyNode {
  //       key = long 25,
  //       left = &KeyNode {key = long 10, left = nullptr, right = nullptr},
  //       right = nullptr
  //     },
  //     right = &KeyNode {
  //       key = long 75,
  //       left = &KeyNode {key = long 60, left = nullptr, right = nullptr},
  //       right = nullptr
  //     }
  //   }
  // }
  auto* self = frame.Load<const Tree*>(1);
  auto* key = frame.Load<const Key*>(2);  // std::variant<long, std::string>: std::string "sixty"
  RECRASH_EXPECT_FIXED(frame.Call(self, key));
}

// Frame 2: main, bst.cc:104.
// Calls frame 1: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame2_main) {
  recrash::Frame frame(2);
  frame.Sealed();  // finds no files but those in the report
  const int argc = 2;
  auto* argv = frame.Load<char**>(2);  // &"bst"
  RECRASH_EXPECT_FIXED(frame.Call(argc, argv));
}
