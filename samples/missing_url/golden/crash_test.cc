// uncaught std::out_of_range (vector::_M_range_check: __n (which is 2) >= this->size() (which is 2)) in GetUrl at missing_url.cc:22
//
// Program  missing_url
// Crashed  TIME
// Report   missing_url-TIME-PROCESS
//
//      19 |     }
//      20 |   }
//      21 |
//  >   22 |   NOINLINE const std::string& GetUrl(size_t index) const { return urls_.at(index); }
//      23 |
//      24 |   NOINLINE size_t Print(const std::string& table) {
//      25 |     Init(table);
//
//   #0   0xADDRESS in libstdc++.so.6.0.30
//   #1   std::vector::_M_range_check(__n=?)  stl_vector.h:1153  [inlined]
//   #2   std::vector::at(__n=?)  stl_vector.h:1194  [inlined]
//   #3   Bookmarks::GetUrl(index=2)  missing_url.cc:22
//   #4   Bookmarks::Print(table="news https://news.ex...)  missing_url.cc:28
//   #5   main()  missing_url.cc:41
//   #6   __libc_start_call_main(...)  libc_start_call_main.h:58
//   #7   __libc_start_main_impl(...)  libc-start.c:360
//   #8   _start()
//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the recorded failure happens again. Made by recrash; yours to edit and keep.
#include <recrash/test.h>

struct Bookmarks;

// Frame 3: Bookmarks::GetUrl, missing_url.cc:22.
// The function that failed: what it was given and what it made of it are both here.
TEST(CrashTest, Frame3_Bookmarks_GetUrl) {
  recrash::Frame frame(3);
  frame.Sealed();  // finds no files but those in the report
  // Bookmarks {
  //   names_ = of 3 {"news", "mail", "maps"},
  //   urls_ = of 2 {"https://news.example", "https://maps.example"}
  // }
  auto* self = frame.Load<const Bookmarks*>(1);
  const std::size_t index = 2;
  RECRASH_EXPECT_FIXED(frame.Call(self, index));
}

// Frame 4: Bookmarks::Print, missing_url.cc:28.
// Calls frame 3: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame4_Bookmarks_Print) {
  recrash::Frame frame(4);
  frame.Sealed();  // finds no files but those in the report
  // Bookmarks {
  //   names_ = of 3 {"news", "mail", "maps"},
  //   urls_ = of 2 {"https://news.example", "https://maps.example"}
  // }
  auto* self = frame.Load<Bookmarks*>(1);
  auto* table = frame.Load<const std::string*>(2);  // "news https://news.example\nmail\nmaps https://maps.example\n"
  RECRASH_EXPECT_FIXED(frame.Call(self, table));
}

// Frame 5: main, missing_url.cc:41.
// Calls frame 4: it fails when that one does, and shows what led there.
TEST(CrashTest, Frame5_main) {
  recrash::Frame frame(5);
  frame.Sealed();  // finds no files but those in the report
  RECRASH_EXPECT_FIXED(frame.Call());
}
