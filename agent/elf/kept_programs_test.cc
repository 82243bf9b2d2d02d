#include "agent/elf/kept_programs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "agent/base/testing_files.h"
#include "agent/elf/elf_notes.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

class KeptPrograms : public testing::Test {
 protected:
  KeptPrograms() {
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    fs::copy_file(RECRASH_TEST_SMALL_PROGRAM, program_);
    build_id_ = *ReadBuildId(program_);
  }
  ~KeptPrograms() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("RECRASH_KEEP_PROGRAMS");
  }

  fs::path folder() const { return fs::path(cache_.path()) / "recrash/programs"; }

  TemporaryDirectory cache_, build_;
  const std::string program_ = build_ / "server";
  std::string build_id_;
};

TEST_F(KeptPrograms, AreFoundByTheirBuildIds) {
  ASSERT_FALSE(build_id_.empty());
  EXPECT_EQ(FindKeptProgram(build_id_), "");
  KeepProgram(program_);
  fs::remove(program_);
  EXPECT_EQ(FindKeptProgram(build_id_), folder() / build_id_ / "server");
  for (const char* other : {"", "..", "0123456789abcdef", "../../../../etc"}) EXPECT_EQ(FindKeptProgram(other), "");
}

TEST_F(KeptPrograms, AreNotKeptWhereThatIsTurnedOff) {
  setenv("RECRASH_KEEP_PROGRAMS", "0", 1);
  KeepProgram(program_);
  EXPECT_FALSE(fs::exists(folder()));
}

// Who may write there chooses the code that a replay runs.
TEST_F(KeptPrograms, AreNotFoundWhereOthersMayWrite) {
  KeepProgram(program_);
  for (const fs::path& path : {folder(), folder() / build_id_, folder() / build_id_ / "server"}) {
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, before | fs::perms::others_write);
    EXPECT_EQ(FindKeptProgram(build_id_), "") << path;
    fs::permissions(path, before);
  }
  EXPECT_NE(FindKeptProgram(build_id_), "");
  fs::rename(folder() / build_id_, folder() / "0123456789abcdef");
  EXPECT_EQ(FindKeptProgram("0123456789abcdef"), "") << "it has another build-id";
}

TEST_F(KeptPrograms, AreBounded) {
  fs::create_directories(folder());
  for (size_t i = 0; i < kMostKeptPrograms + 3; ++i) {
    const fs::path old = folder() / std::to_string(i);
    fs::create_directory(old);
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  KeepProgram(program_);
  EXPECT_NE(FindKeptProgram(build_id_), "");
  EXPECT_FALSE(fs::exists(folder() / "0"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), {}), static_cast<std::ptrdiff_t>(kMostKeptPrograms));
}

}  // namespace
}  // namespace recrash
