#include "integrations/pages/written_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/base/testing_files.h"

namespace recrash::pages {
namespace fs = std::filesystem;
namespace {

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string MessageOf(const Status& status) { return status ? "" : status.error().message; }

// A disk that is full after so many bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

TEST(WriteWhole, TakesThePlaceOfAFile) {
  const TemporaryDirectory folder;
  const std::string path = folder / "why.html";
  std::ofstream(path) << "before, and longer";
  EXPECT_EQ(MessageOf(WriteWhole("now", path, "page")), "");
  EXPECT_EQ(TextOf(path), "now");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"why.html"});
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(WriteWhole, OnAFullDiskNothingIsLost) {
  const TemporaryDirectory folder;
  const std::string path = folder / "why.html";
  std::ofstream(path) << "before";
  std::string message;
  {
    const FullDisk disk(1000);
    message = MessageOf(WriteWhole(std::string(5000, 'x'), path, "page"));
  }
  EXPECT_THAT(message, testing::HasSubstr("why.html: page not written: File too large"));
  EXPECT_EQ(TextOf(path), "before");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"why.html"});
}

TEST(WriteWhole, GoesWhereALinkLeads) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "file") << "before";
  fs::create_symlink("file", folder / "link");
  EXPECT_EQ(MessageOf(WriteWhole("now", folder / "link", "page")), "");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(TextOf(folder / "file"), "now");
}

// A rename would put a file in the place of the device.
TEST(WriteWhole, LeavesWhatIsNoFile) {
  const TemporaryDirectory folder;
  fs::create_directory(folder / "folder");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder / "link");
  for (const char* name : {"folder", "pipe", "link"})
    EXPECT_THAT(MessageOf(WriteWhole("now", folder / name, "page")), testing::HasSubstr("something else than a file"))
        << name;
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
}

TEST(WriteWhole, AFolderThatIsNotThereIsSaid) {
  EXPECT_THAT(MessageOf(WriteWhole("now", "/nosuch/why.html", "page")),
              testing::HasSubstr("choose a directory that exists"));
}

}  // namespace
}  // namespace recrash::pages
