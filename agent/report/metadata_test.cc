// A report's metadata without the rest: what damage does not matter, and what is not read.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "agent/report/testing_damaged_report.h"
#include "shadowstack/raw_format.h"

namespace recrash {
namespace {

using format::SectionKind;

// What this process has read from files so far.
uint64_t BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string name;
  uint64_t value = 0;
  while (io >> name >> value)
    if (name == "rchar:") return value;
  ADD_FAILURE() << "/proc/self/io has no rchar";
  return 0;
}

class MetadataOnly : public Damage {
 protected:
  // A report of 64 MiB.
  Bytes LargeFile() {
    Report report = FullReport();
    report.memory = {{{0x10000}, Bytes(64u << 20)}};
    uint64_t word = 1;
    for (uint8_t& byte : report.memory[0].bytes)
      byte = static_cast<uint8_t>((word = word * 6364136223846793005 + 1) >> 56);
    EXPECT_TRUE(WriteReport(report, path_));
    return ReadBytes(path_);
  }
};

TEST_F(MetadataOnly, IsAllButMemoryAndContents) {
  ASSERT_TRUE(WriteReport(FullReport(), path_));
  const Result<Report> whole = ReadReport(path_);
  const Result<Report> metadata = ReadMetadata(path_);
  ASSERT_TRUE(whole && metadata);
  Report rest = *whole;
  rest.memory.clear();
  rest.snapshots.reset();
  for (Input& input : rest.inputs) input.bytes.clear();
  EXPECT_EQ(Dump(*metadata), Dump(rest));
  EXPECT_TRUE(metadata->memory.empty());
  EXPECT_FALSE(metadata->snapshots);
}

TEST_F(MetadataOnly, DoesNotReadWhatIsBesideIt) {
  Bytes file = LargeFile();
  ASSERT_GT(file.size(), 60u << 20);
  const uint64_t before = BytesRead();
  ASSERT_TRUE(ReadMetadata(path_));
  EXPECT_LT(BytesRead() - before, 100u << 10);
  file[file.size() / 2] ^= 1;
  WriteBytes(path_, file);
  EXPECT_FALSE(ReadReport(path_));
  EXPECT_TRUE(ReadMetadata(path_)) << "damage elsewhere does not matter";
}

TEST_F(MetadataOnly, IsChecked) {
  ASSERT_TRUE(WriteReport(FullReport(), path_));
  Bytes file = ReadBytes(path_);
  format::Section first;
  std::memcpy(&first, &file[sizeof(format::Header)], sizeof first);
  ASSERT_EQ(first.kind, static_cast<uint32_t>(SectionKind::kMetadata));
  file[first.offset + first.stored_length / 2] ^= 1;
  WriteBytes(path_, file);
  const Result<Report> damaged = ReadMetadata(path_);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().message, path_ + ": damaged report: metadata: checksum");
}

TEST_F(MetadataOnly, OfARawReportIsReadWithoutItsMemory) {
  Bytes file;
  const auto add = [&](raw::BlockKind kind, const Bytes& payload) {
    Put(&file, raw::RawBlock{kind, 0, payload.size()});
    file.insert(file.end(), payload.begin(), payload.end());
  };
  abi::CrashRecord record{};
  record.magic = abi::kCrashMagic;
  record.version = abi::kCrashVersion;
  record.size = sizeof record;
  record.kind = abi::FailureKind::kSignal;
  record.pid = 7;
  Put(&file, raw::RawHeader{raw::kMagic, raw::kVersion, sizeof(raw::RawHeader)});
  Bytes bytes;
  Put(&bytes, record);
  add(raw::BlockKind::kRecord, bytes);
  for (uint64_t i = 0; i < 16; ++i) {
    Bytes memory;
    Put(&memory, raw::RawMemory{0x10000 + (i << 20)});
    memory.resize(memory.size() + (1 << 20));
    add(raw::BlockKind::kMemory, memory);
  }
  add(raw::BlockKind::kEnd, {});
  WriteBytes(path_, file);
  const uint64_t before = BytesRead();
  const Result<Report> metadata = ReadMetadata(path_);
  EXPECT_LT(BytesRead() - before, 100u << 10);
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_EQ(metadata->process.pid, 7);
  EXPECT_TRUE(metadata->memory.empty());
  EXPECT_EQ(ReadReport(path_)->memory.at(0).bytes.size(), 16u << 20);
}

}  // namespace
}  // namespace recrash
