// uncaught std::runtime_error (unknown encoding 7) in Decode at bst.cc:81
//
// Program  bst
// Crashed  TIME
// Report   bst-TIME-PROCESS
//
//      78 |       case Encoding::kBinary:
//      79 |         return letter;
//      80 |       default:
//  >   81 |         throw std::runtime_error("unknown encoding " + std::to_string(static_cast<int>(encoding)));
//      82 |     }
//      83 |   }
//      84 |
//
//   #0   Tree::Decode(letter='7', encoding=Encoding(7))  bst.cc:81
//   #1   Tree::Load(text="7421", encoding=Encoding(7))  bst.cc:55
//   #2   main(argc=2, argv=&"PATH...)  bst.cc:107
//   #3   __libc_start_call_main(...)  libc_start_call_main.h:58
//   #4   __libc_start_main_impl(...)  libc-start.c:360
//   #5   _start()
//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the recorded failure happens again. Made by recrash; yours to edit and keep.
#include <recrash/test.h>

struct Tree;

// Frame 0: Tree::Decode, bst.cc:81.
// The function that failed: what it was given and what it made of it are both here.
TEST(CrashTest, Frame0_Tree_Decode) {
  recrash::Frame frame(0);
  frame.Sealed();  // finds no files but those in the report
  const char letter = '7';
  enum class Encoding : std::int32_t { kText = 1, kBinary = 2, kPacked = 3 };
  const auto encoding = static_cast<Encoding>(7);  // no enumerator has this value
  RECRASH_EXPECT_FIXED(frame.Call(letter, encoding));
}

// Frame 1: Tree::Load, bst.cc:55.
// Calls frame 0: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame1_Tree_Load) {
  recrash::Frame frame(1);
  frame.Sealed();  // finds no files but those in the report
  auto* self = frame.Load<Tree*>(1);  // Tree {root_ = nullptr}
  const char* text = "7421";
  enum class Encoding : std::int32_t { kText = 1, kBinary = 2, kPacked = 3 };
  const auto encoding = static_cast<Encoding>(7);  // no enumerator has this value
  RECRASH_EXPECT_FIXED(frame.Call(self, text, encoding));
}

// Frame 2: main, bst.cc:107.
// Calls frame 1: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame2_main) {
  recrash::Frame frame(2);
  frame.Sealed();  // finds no files but those in the report
  const int argc = 2;
  auto* argv = frame.Load<char**>(2);  // &"bst"
  RECRASH_EXPECT_FIXED(frame.Call(argc, argv));
}
