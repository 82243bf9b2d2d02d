#include "integrations/terminal/status_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace recrash::cli {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class Line : public testing::Test {
 protected:
  ~Line() override {
    std::fclose(out_);
    std::free(text_);
  }

  std::string Text() {
    std::fflush(out_);
    return {text_, size_};
  }

  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* out_ = open_memstream(&text_, &size_);
};

TEST_F(Line, IsOverwrittenAndGoneInTheEnd) {
  {
    StatusLine line(out_);
    line.Show("replaying frame 0/2");
    line.Show("replaying frame 1/2");
  }
  EXPECT_EQ(Text(), "\r\033[Kreplaying frame 0/2\r\033[Kreplaying frame 1/2\r\033[K");
}

TEST_F(Line, IsNothingWhereNothingWasShown) {
  {
    StatusLine line(out_);
  }
  EXPECT_EQ(Text(), "");
}

TEST_F(Line, SaysForHowLongItStands) {
  {
    StatusLine line(out_, milliseconds(20));
    line.Show("replaying frame 1/2");
    std::this_thread::sleep_for(milliseconds(1500));
  }
  EXPECT_THAT(Text(), HasSubstr("replaying frame 1/2, for 1 s"));
}

// What was cleared does not come back.
TEST_F(Line, StaysCleared) {
  StatusLine line(out_, milliseconds(20));
  line.Show("replaying frame 1/2");
  line.Clear();
  std::this_thread::sleep_for(milliseconds(200));
  line.Clear();
  EXPECT_THAT(Text(), Not(HasSubstr(", for")));
}

}  // namespace
}  // namespace recrash::cli
