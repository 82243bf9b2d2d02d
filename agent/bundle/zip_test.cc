// What is written is read again, by us and by the tools that people have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "agent/base/testing_files.h"
#include "agent/bundle/zip_format.h"
#include "agent/bundle/zip_reader.h"
#include "agent/bundle/zip_writer.h"

namespace recrash {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int64_t kTime = 1'795'000'000;  // 2026-11-18 11:06:40 UTC

Bytes Noise(size_t size) {
  Bytes bytes(size);
  uint32_t state = 1;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

std::vector<ZipMember> Members() {
  return {{"a-1.rcr", Noise(100'000)}, {"README.md", Bytes(5000, 'x')}, {"empty", {}}};
}

class Zip : public testing::Test {
 protected:
  void Write(const std::vector<ZipMember>& members) {
    const Result<Bytes> zip = MakeZip(members, kTime);
    ASSERT_TRUE(zip);
    WriteBytes(path_, *zip);
  }

  InputFile Open() {
    Result<InputFile> file = InputFile::Open(path_);
    EXPECT_TRUE(file);
    return *std::move(file);
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "x.zip";
};

TEST_F(Zip, IsReadAsItWasWritten) {
  Write(Members());
  const InputFile file = Open();
  EXPECT_TRUE(IsZip(file));
  const auto entries = ReadZipDirectory(file);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*entries)[i].name, Members()[i].name);
    const auto member = OpenZipEntry(file, (*entries)[i], 1 << 20);
    ASSERT_TRUE(member) << member.error().message;
    Bytes bytes(member->size());
    ASSERT_TRUE(member->ReadAt(0, bytes.data(), bytes.size()));
    EXPECT_EQ(bytes, Members()[i].bytes);
    EXPECT_EQ(member->path(), path_);
  }
}

// A report is zstd already.
TEST_F(Zip, DeflatesOnlyWhatGetsSmaller) {
  Write(Members());
  const InputFile file = Open();
  const auto entries = ReadZipDirectory(file);
  ASSERT_TRUE(entries);
  EXPECT_FALSE((*entries)[0].deflated);
  EXPECT_TRUE((*entries)[1].deflated);
  EXPECT_FALSE((*entries)[2].deflated);
  EXPECT_LT(file.size(), 101'000u);
}

TEST_F(Zip, OpensInUnzipAndInPython) {
  Write(Members());
  const std::string in_folder = "cd '" + folder_.path() + "' && ";
  ASSERT_EQ(std::system((in_folder +
                         "python3 -c 'import zipfile; z = zipfile.ZipFile(\"x.zip\");"
                         "assert z.testzip() is None; i = z.infolist()[1];"
                         "assert (i.filename, i.file_size, i.external_attr >> 16) == (\"README.md\", 5000, 0o100600);"
                         "assert i.date_time == (2026, 11, 18, 11, 6, 40), i.date_time; z.extractall(\"py\")'")
                            .c_str()),
            0);
  EXPECT_EQ(ReadBytes(folder_ / "py/a-1.rcr"), Members()[0].bytes);
  ASSERT_EQ(std::system((in_folder + "unzip -q x.zip -d un && unzip -tqq x.zip").c_str()), 0);
  EXPECT_EQ(ReadBytes(folder_ / "un/a-1.rcr"), Members()[0].bytes);
  EXPECT_EQ(ReadBytes(folder_ / "un/README.md"), Members()[1].bytes);
}

// As people make one that have unpacked ours: with other sizes in the members' own headers, extra fields, all deflated.
TEST_F(Zip, OfPythonIsRead) {
  const std::string make =
      "cd '" + folder_.path() +
      "' && python3 -c 'import sys, zipfile\n"
      "class Pipe:\n"
      "  write = staticmethod(sys.stdout.buffer.write)\n"
      "  flush = staticmethod(sys.stdout.buffer.flush)\n"
      "z = zipfile.ZipFile(Pipe(), \"w\", zipfile.ZIP_DEFLATED)\n"
      "z.writestr(\"a.rcr\", b\"report\" * 1000); z.writestr(\"b\", b\"other\"); z.close()' > x.zip";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const InputFile file = Open();
  const auto entries = ReadZipDirectory(file);
  ASSERT_TRUE(entries) << entries.error().message;
  const auto member = OpenZipEntry(file, entries->front(), 1 << 20);
  ASSERT_TRUE(member) << member.error().message;
  EXPECT_EQ(member->size(), 6000u);
}

TEST(ZipTime, BeginsWith1980) {
  for (const int64_t seconds : {int64_t{0}, INT64_MAX, INT64_MIN, int64_t{1} << 33}) {
    const auto zip = MakeZip({}, seconds);
    ASSERT_TRUE(zip);
    EXPECT_EQ(zip->size(), sizeof(zip::DirectoryEnd));
    const std::vector<ZipMember> one = {{"a", {}}};
    const auto with = MakeZip(one, seconds);
    ASSERT_TRUE(with);
    EXPECT_EQ((*with)[12] | (*with)[13] << 8, 33) << seconds;
  }
}

}  // namespace
}  // namespace recrash
