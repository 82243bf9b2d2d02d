// A damaged or hostile zip file gives one sentence: never a crash, never another content, never unbounded memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "agent/base/testing_files.h"
#include "agent/bundle/zip_format.h"
#include "agent/bundle/zip_reader.h"
#include "agent/bundle/zip_writer.h"

namespace recrash {
namespace {

using Bytes = std::vector<uint8_t>;
using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr uint64_t kLimit = 1 << 20;

Bytes Text(const std::string& text) { return {text.begin(), text.end()}; }

const std::vector<ZipMember> kMembers = {{"stored.rcr", Text("a report")}, {"deflated.md", Bytes(300, 'x')}};

class ZipDamage : public testing::Test {
 protected:
  // The contents of all members, one after the other.
  Result<Bytes> Read(const Bytes& bytes) {
    WriteBytes(path_, bytes);
    const Result<InputFile> file = InputFile::Open(path_);
    if (!file) return file.error();
    const auto entries = ReadZipDirectory(*file);
    if (!entries) return entries.error();
    Bytes all;
    for (const ZipEntry& entry : *entries) {
      const Result<InputFile> member = OpenZipEntry(*file, entry, kLimit);
      if (!member) return member.error();
      const size_t before = all.size();
      all.resize(before + member->size());
      if (Status status = member->ReadAt(0, all.data() + before, member->size()); !status) return status.error();
    }
    return all;
  }

  void ExpectDamaged(const Bytes& bytes, const std::string& why) {
    const Result<Bytes> read = Read(bytes);
    ASSERT_FALSE(read) << why;
    EXPECT_EQ(read.error().code, Errc::kDamaged) << read.error().message;
    EXPECT_THAT(read.error().message, HasSubstr(why));
    EXPECT_THAT(read.error().message, AnyOf(AllOf(StartsWith(path_ + ": damaged zip file: "), Not(HasSubstr("\n"))),
                                            AllOf(StartsWith(path_ + ": zip file that is not read: "),
                                                  EndsWith("\nunpack it, and give the report in it"))));
  }

  Bytes Good() { return *MakeZip(kMembers, 0); }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "x.zip";
};

template <typename T>
T* At(Bytes* bytes, size_t offset) {
  return reinterpret_cast<T*>(bytes->data() + offset);
}

zip::DirectoryEnd* End(Bytes* zip) { return At<zip::DirectoryEnd>(zip, zip->size() - sizeof(zip::DirectoryEnd)); }

zip::DirectoryLine* Line(Bytes* zip, size_t number) {
  size_t at = End(zip)->offset;
  for (; number > 0; --number) at += sizeof(zip::DirectoryLine) + At<zip::DirectoryLine>(zip, at)->about.name_size;
  return At<zip::DirectoryLine>(zip, at);
}

zip::MemberHeader* Header(Bytes* zip, size_t number) { return At<zip::MemberHeader>(zip, Line(zip, number)->offset); }

TEST_F(ZipDamage, OfNoByteGivesAnotherContent) {
  const Bytes good = Good();
  const Result<Bytes> content = Read(good);
  ASSERT_TRUE(content) << content.error().message;
  ASSERT_LT(good.size(), 400u);
  size_t found = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x08, 0x80, 0xff}) {
      Bytes bad = good;
      bad[i] ^= flip;
      const Result<Bytes> read = Read(bad);
      found += !read;
      if (read)
        EXPECT_EQ(*read, *content) << "byte " << i << " ^ " << +flip;
      else
        EXPECT_EQ(read.error().code, Errc::kDamaged) << read.error().message;
    }
  }
  // The others are times, versions and attributes, which nobody reads.
  EXPECT_GT(found, good.size() * 4 * 2 / 3);
}

TEST_F(ZipDamage, OfEachTruncationIsFound) {
  const Bytes good = Good();
  for (size_t size = 0; size < good.size(); ++size) ExpectDamaged(Bytes(good.begin(), good.begin() + size), "");
}

TEST_F(ZipDamage, IsAnythingBehindTheEnd) {
  Bytes bytes = Good();
  bytes.push_back(0);
  ExpectDamaged(bytes, "does not end as a zip file does");
}

TEST_F(ZipDamage, IsAnythingBeyondWhatIsRead) {
  struct Case {
    const char* why;
    std::function<void(Bytes*)> make;
  };
  const Case cases[] = {
      {"encrypted", [](Bytes* b) { Line(b, 0)->about.flags = Header(b, 0)->about.flags = 1; }},
      {"method 12", [](Bytes* b) { Line(b, 0)->about.method = Header(b, 0)->about.method = 12; }},
      {"does not end", [](Bytes* b) { End(b)->comment_size = 1; }},
      {"several disks", [](Bytes* b) { End(b)->disk = 1; }},
      {"several disks", [](Bytes* b) { End(b)->count = 0xffff; }},
      {"65535 entries, at most 16", [](Bytes* b) { End(b)->count = End(b)->count_here = 0xffff; }},
      {"directory is cut", [](Bytes* b) { End(b)->count = End(b)->count_here = 3; }},
      {"more than its entries", [](Bytes* b) { End(b)->count = End(b)->count_here = 1; }},
      {"does not lie before its end", [](Bytes* b) { End(b)->offset = 0xffffffff; }},
      {"not what the directory says", [](Bytes* b) { Header(b, 0)->about.method = zip::kDeflated; }},
      {"two names", [](Bytes* b) { *At<char>(b, sizeof(zip::MemberHeader)) = 'x'; }},
      {"two sizes", [](Bytes* b) { Line(b, 0)->about.size = 7; }},
      {"outside", [](Bytes* b) { Line(b, 0)->offset = 0xfffffff0; }},
      {"outside", [](Bytes* b) { Line(b, 0)->about.packed = Line(b, 0)->about.size = 0x7fffffff; }},
      {"outside", [](Bytes* b) { Header(b, 1)->about.extra_size = 0xffff; }},
      {"checksum", [](Bytes* b) { Line(b, 0)->about.crc ^= 1; }},
      {"cannot be unpacked", [](Bytes* b) { Line(b, 1)->about.size = 299; }},
      {"cannot be unpacked", [](Bytes* b) { Line(b, 1)->about.size = 301; }},
      {"cannot be unpacked", [](Bytes* b) { --Line(b, 1)->about.packed; }},
      {"at most 1048576 are read", [](Bytes* b) { Line(b, 1)->about.size = kLimit + 1; }},
  };
  for (const Case& one : cases) {
    Bytes bytes = Good();
    one.make(&bytes);
    ExpectDamaged(bytes, one.why);
  }
}

// Of 42 KiB a bomb makes gigabytes by one place that is many members, or by one member of many.
TEST_F(ZipDamage, IsABomb) {
  Bytes twice = *MakeZip(std::vector<ZipMember>{{"a", Bytes(300, 'x')}, {"a", Bytes(300, 'x')}}, 0);
  Line(&twice, 1)->offset = 0;
  ExpectDamaged(twice, "members overlap");

  // It says that it is small.
  Bytes lying = *MakeZip(std::vector<ZipMember>{{"a", Bytes(64 << 20, 0)}}, 0);
  ASSERT_LT(lying.size(), 100'000u);
  ExpectDamaged(lying, "at most 1048576 are read");
  Line(&lying, 0)->about.size = 1000;
  ExpectDamaged(lying, "cannot be unpacked");
}

TEST_F(ZipDamage, IsAnotherKindOfFile) {
  ExpectDamaged(Bytes(100, 'x'), "does not end as a zip file does");
  ExpectDamaged({}, "has 0 bytes");
}

}  // namespace
}  // namespace recrash
