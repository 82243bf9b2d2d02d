#include "testgen/replay/plan/recorded_path.h"

#include <gtest/gtest.h>

#include <string>

namespace recrash {
namespace {

std::string Normal(const std::string& folder, const std::string& path, size_t size = 100) {
  std::string out(size, 'x');
  if (!NormalizePath(folder.c_str(), path.c_str(), out.data(), size)) return "does not fit";
  return out.c_str();
}

TEST(RecordedPath, IsSeenFromTheFolder) {
  EXPECT_EQ(Normal("/home/u", "in.txt"), "/home/u/in.txt");
  EXPECT_EQ(Normal("/home/u", "/etc/in.txt"), "/etc/in.txt");
  EXPECT_EQ(Normal("/", "in.txt"), "/in.txt");
  EXPECT_EQ(Normal("/home/u", ""), "/home/u");
}

TEST(RecordedPath, HasNoDotsAndNoEmptyParts) {
  EXPECT_EQ(Normal("/home/u", "./a//b/./c/"), "/home/u/a/b/c");
  EXPECT_EQ(Normal("/home/u", "../v/../../in"), "/in");
  EXPECT_EQ(Normal("/home/u", "../../../../in"), "/in");
  EXPECT_EQ(Normal("/home/u", "../.."), "/");
  EXPECT_EQ(Normal("/home/u", "...x/.y/..z"), "/home/u/...x/.y/..z");
}

TEST(RecordedPath, IsRefusedWhenItDoesNotFit) {
  EXPECT_EQ(Normal("/a", "bc", 6), "/a/bc");
  EXPECT_EQ(Normal("/a", "bc", 5), "does not fit");
  EXPECT_EQ(Normal("/a", "b/../..", 4), "does not fit");
  EXPECT_EQ(Normal("/a", "../..", 4), "/");
}

}  // namespace
}  // namespace recrash
