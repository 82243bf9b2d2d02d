// uncaught std::bad_cast (std::bad_cast) in KeyOf at bst.cc:63
//
// Program  bst
// Crashed  TIME
// Report   bst-TIME-PROCESS
//
//      60 |
//      61 |  private:
//      62 |   // Each node of a tree that was never pruned is a KeyNode; the cast throws std::bad_cast at a t...
//  >   63 |   NOINLINE static const Key& KeyOf(const Node& node) { return dynamic_cast<const KeyNode&>(node)....
//      64 |
//      65 |   // Keys of one tree are all numbers or all texts; std::get throws std::bad_variant_access when ...
//      66 |   NOINLINE static int Compare(const Key& a, const Key& b) {
//
//   #0   __cxa_bad_cast(...)
//   #1   Tree::KeyOf(node=Tombstone {removed_at...)  bst.cc:63
//   #2   Tree::Contains(key=std::variant<long, st...)  bst.cc:40
//   #3   main(argc=2, argv=&"PATH...)  bst.cc:102
//   #4   __libc_start_call_main(...)  libc_start_call_main.h:58
//   #5   __libc_start_main_impl(...)  libc-start.c:360
//   #6   _start()
//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the recorded failure happens again. Made by recrash; yours to edit and keep.
#include <recrash/test.h>

struct Key;
struct Node;
struct Tree;

// Frame 1: Tree::KeyOf, bst.cc:63.
// The function that failed: what it was given and what it made of it are both here.
TEST(CrashTest, Frame1_Tree_KeyOf) {
  recrash::Frame frame(1);
  frame.Sealed();  // finds no files but those in the report
  auto* node = frame.Load<const Node*>(1);  // Tombstone {removed_at = 0}
  RECRASH_EXPECT_FIXED(frame.Call(node));
}

// Frame 2: Tree::Contains, bst.cc:40.
// Calls frame 1: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame2_Tree_Contains) {
  recrash::Frame frame(2);
  frame.Sealed();  // finds no files but those in the report
  auto* self = frame.Load<const Tree*>(1);  // Tree {root_ = &Tombstone {removed_at = 0}}
  auto* key = frame.Load<const Key*>(2);  // std::variant<long, std::string>: long 60
  RECRASH_EXPECT_FIXED(frame.Call(self, key));
}

// Frame 3: main, bst.cc:102.
// Calls frame 2: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame3_main) {
  recrash::Frame frame(3);
  frame.Sealed();  // finds no files but those in the report
  const int argc = 2;
  auto* argv = frame.Load<char**>(2);  // &"bst"
  RECRASH_EXPECT_FIXED(frame.Call(argc, argv));
}
