// For tests: reports that no writer writes, put together section by section, and what the reader says of them.
#ifndef RECRASH_AGENT_REPORT_TESTING_DAMAGED_REPORT_H_
#define RECRASH_AGENT_REPORT_TESTING_DAMAGED_REPORT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/format.h"
#include "agent/report/reader.h"
#include "agent/report/testing_reports.h"
#include "agent/report/writer.h"

namespace recrash {

using Bytes = std::vector<uint8_t>;

struct Part {
  uint32_t kind;
  Bytes stored;
  uint64_t length;
  format::Compression compression = format::Compression::kNone;
  uint32_t flags = 0;
};

inline Part Plain(format::SectionKind kind, Bytes bytes, uint32_t flags = 0) {
  const uint64_t length = bytes.size();
  return {static_cast<uint32_t>(kind), std::move(bytes), length, format::Compression::kNone, flags};
}

// A container whose checksums are right whatever it holds.
Bytes Container(std::vector<Part> parts, uint32_t version = format::kVersion);

template <typename T>
void Put(Bytes* bytes, T value) {
  const auto* raw = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), raw, raw + sizeof value);
}

Bytes Runs(std::vector<format::Run> runs, size_t bytes_behind);

// Of a report that needs no section of inputs.
Bytes Metadata();
inline Bytes NoMemory() { return Runs({}, 0); }

class Damage : public testing::Test {
 protected:
  // With what tests need, where the file has it.
  Result<TestReport> Read(const Bytes& bytes) {
    WriteBytes(path_, bytes);
    Result<TestReport> tests = ReadTestReport(path_);
    if (tests || tests.error().code != Errc::kMissing) return tests;
    Result<Report> report = ReadReport(path_);
    if (!report) return report.error();
    return TestReport{*std::move(report), {}};
  }

  // One sentence that begins with the path.
  void ExpectDamaged(const Bytes& bytes, const std::string& why = "") {
    const Result<TestReport> report = Read(bytes);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kDamaged) << report.error().message;
    EXPECT_THAT(report.error().message, testing::StartsWith(path_ + ": damaged report: "));
    EXPECT_THAT(report.error().message, testing::HasSubstr(why));
    EXPECT_THAT(report.error().message, testing::Not(testing::HasSubstr("\n")));
  }

  Bytes SmallFile() {
    EXPECT_TRUE(WriteReport(SmallReport(), path_));
    return ReadBytes(path_);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.rcr";
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_TESTING_DAMAGED_REPORT_H_
