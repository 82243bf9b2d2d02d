// Which zip files are bundles, and what of them is opened.
#include "agent/bundle/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/base/testing_files.h"
#include "agent/bundle/zip_writer.h"

namespace recrash {
namespace {

using Bytes = std::vector<uint8_t>;
using testing::HasSubstr;
using testing::Not;

Bytes Text(const std::string& text) { return {text.begin(), text.end()}; }

class Bundle : public testing::Test {
 protected:
  void Write(const std::vector<ZipMember>& members) { WriteBytes(path_, *MakeZip(members, 0)); }

  static std::string TextOf(const Result<InputFile>& file) {
    if (!file) return "error: " + file.error().message;
    std::string text(file->size(), '\0');
    EXPECT_TRUE(file->ReadAt(0, text.data(), text.size()));
    return text;
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "x.zip";
};

TEST_F(Bundle, HasAReportAndPerhapsItsMinidump) {
  Write({{"README.md", Text("read")}, {"a.rcr", Text("report")}, {"a.dmp", Text("minidump")}});
  EXPECT_EQ(TextOf(OpenReport(path_)), "report");
  EXPECT_EQ(TextOf(OpenMinidump(path_)), "minidump");
  Write({{"a.rcraw", Text("raw")}});
  EXPECT_EQ(TextOf(OpenReport(path_)), "raw");
  EXPECT_EQ(OpenMinidump(path_).error().code, Errc::kMissing);
}

// Any file is one or the other by its content, whatever it is called.
TEST_F(Bundle, IsToldFromAReport) {
  WriteBytes(folder_ / "a.rcr", Text("report"));
  EXPECT_EQ(TextOf(OpenReport(folder_ / "a.rcr")), "report");
  EXPECT_EQ(OpenMinidump(folder_ / "a.rcr").error().code, Errc::kMissing);
  WriteBytes(folder_ / "a.dmp", Text("minidump"));
  EXPECT_EQ(TextOf(OpenMinidump(folder_ / "a.rcr")), "minidump");
  EXPECT_EQ(OpenReport(folder_ / "none.zip").error().code, Errc::kMissing);
  EXPECT_EQ(OpenMinidump(folder_ / "none.zip").error().code, Errc::kMissing);
}

TEST_F(Bundle, HasNothingElse) {
  const ZipMember report = {"a.rcr", Text("report")};
  const std::vector<std::vector<ZipMember>> others = {
      {{"README.md", {}}},
      {report, {"b.rcr", {}}},
      {report, {"a.rcr", {}}},
      {report, {"setup.exe", {}}},
      {report, {"", {}}},
      {{"../../.bashrc", {}}, report},
      {{"../a.rcr", {}}},
      {{"/etc/a.rcr", {}}},
      {{"..\\a.rcr", {}}},
      {{"a/", {}}, {"a/a.rcr", Text("report")}},
      {report, {"\x1b[2Jx\nrecrash: all is well", {}}},
  };
  for (const std::vector<ZipMember>& members : others) {
    Write(members);
    for (const auto open : {OpenReport, OpenMinidump}) {
      const Result<InputFile> file = open(path_);
      ASSERT_FALSE(file);
      EXPECT_EQ(file.error().code, Errc::kDamaged);
      EXPECT_THAT(file.error().message, HasSubstr("found a zip file with "));
      EXPECT_THAT(file.error().message, Not(HasSubstr("\x1b")));
      EXPECT_THAT(file.error().message, Not(HasSubstr("\nrecrash: all")));
    }
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>({"x.zip"}));
}

TEST_F(Bundle, OfAnOrdinaryReportIsUnpackedWithinALimit) {
  Write({{"a.rcr", Bytes(kMostInBundle + 1, 0)}});
  EXPECT_THAT(TextOf(OpenReport(path_)), HasSubstr("a member of 268435457 bytes, at most 268435456 are read"));
}

}  // namespace
}  // namespace recrash
