// A report that went to disk comes back as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/report/archive.h"
#include "agent/report/reader.h"
#include "agent/report/testing_damaged_report.h"
#include "agent/report/testing_reports.h"
#include "agent/report/writer.h"

namespace recrash {
namespace {

using format::SectionKind;
using testing::ElementsAre;

class RoundTrip : public testing::Test {
 protected:
  Report There(const Report& report) { return There(report, ReadReport); }
  TestReport There(const TestReport& report) { return There(report, ReadTestReport); }

  template <typename T>
  T There(const T& report, Result<T> (*reader)(const std::string&, const ReadLimits&)) {
    Status written = WriteReport(report, path_);
    EXPECT_TRUE(written) << written.error().message;
    Result<T> read = reader(path_, {});
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : T();
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.rcr";
};

TEST_F(RoundTrip, KeepsEveryField) { EXPECT_EQ(Dump(There(FullReport())), Dump(FullReport())); }

TEST_F(RoundTrip, KeepsAnEmptyReport) { EXPECT_EQ(Dump(There(Report())), Dump(Report())); }

// Before `recrash generate` there is nothing of tests, and mostly no thrown stack.
TEST_F(RoundTrip, KeepsWhatIsAbsentAbsent) {
  Report report = FullReport();
  report.thrown.reset();
  for (Input& input : report.inputs) {
    input.content = InputContent::kNotAsked;
    input.bytes.clear();
  }
  const Report back = There(report);
  EXPECT_EQ(Dump(back), Dump(report));
  EXPECT_EQ(ReadTestReport(path_).error().code, Errc::kMissing);
  EXPECT_FALSE(back.thrown);
}

// What the images hold lies in a section of its own, and replay data need not have one.
TEST_F(RoundTrip, KeepsReplayDataWithoutImages) {
  TestReport report = FullReport();
  report.replay.images = {};
  EXPECT_EQ(Dump(There(report)), Dump(report));
}

// As version 8 has it: without a signature, and without what the program adds.
void TakeNinthAway(TestReport* report) {
  report->signature.clear();
  report->notes.clear();
  report->logs.clear();
  report->code = {};
  for (Input& input : report->inputs) input.attached = false;
}

// As version 7 has it: without exceptions that were replaced.
void TakeEighthAway(TestReport* report) {
  TakeNinthAway(report);
  report->replaced.reset();
  report->failure.replaced_by.clear();
}

// As version 6 has it: without variables of the stack, the line that declares the function that failed, and what is
// said of calls.
void TakeSeventhAway(TestReport* report) {
  TakeEighthAway(report);
  for (ReplayFrame& frame : report->replay.frames) frame.changed_call = false;
  report->replay.place.declared = 0;
  for (ModuleImage& image : report->replay.images) image.stack_variables.clear();
}

// As version 5 has it: without the values that people edit.
void TakeSixthAway(TestReport* report) {
  TakeSeventhAway(report);
  for (ReplayFrame& frame : report->replay.frames) frame.literals.clear();
}

// As version 3 has it: without what callers catch, the chain in the source, and types.
void TakeFourthAway(TestReport* report) {
  TakeSixthAway(report);
  for (ReplayFrame& frame : report->replay.frames) {
    frame.caught.clear();
    frame.parameters.clear();
    frame.inlined_at = {};
    frame.dangling.clear();
  }
  for (ModuleImage& image : report->replay.images) {
    image.types.clear();
    image.variables.clear();
    image.thread_locals.clear();
    image.inlined.clear();
  }
  report->replay.load_order.clear();
  report->replay.place.chain.clear();
  report->replay.place.copies.clear();
}

// Reports, and tests made from them, stay readable when structs get fields. A format is its fields: an older one has
// fewer of them.
class OlderVersions : public Damage {
 protected:
  // Without what lies in sections of its own.
  static TestReport Records() {
    TestReport report = FullReport();
    report.memory.clear();
    report.inputs = {{{}, "/in", 3, "", InputContent::kNoRoom, {}, true}};
    report.files.clear();
    for (ModuleImage& image : report.replay.images) image.read_only.clear();
    report.replay.entry_states.clear();
    report.snapshots->states.clear();
    return report;
  }
  static Bytes Written(const TestReport& report, uint32_t version) {
    return Container(
        {Plain(SectionKind::kMetadata, *EncodeMetadata(report, version)), Plain(SectionKind::kMemory, NoMemory()),
         Plain(SectionKind::kReplay, *EncodeReplay(report.replay, version)),
         Plain(SectionKind::kSnapshots, *EncodeSnapshots(*report.snapshots, version))},
        version);
  }
  void ExpectRead(const TestReport& written, uint32_t version, const TestReport& expected) {
    const Result<TestReport> read = Read(Written(written, version));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(Dump(*read), Dump(expected));
  }
};

TEST_F(OlderVersions, AreRead) {
  const TestReport newest = Records();
  TestReport eighth = newest;
  TakeNinthAway(&eighth);
  ASSERT_NE(Dump(eighth), Dump(newest));
  ExpectRead(newest, 8, eighth);
  TestReport seventh = newest;
  TakeEighthAway(&seventh);
  ASSERT_NE(Dump(seventh), Dump(eighth));
  ExpectRead(newest, 7, seventh);
  TestReport fifth = newest;
  TakeSixthAway(&fifth);
  ASSERT_NE(Dump(fifth), Dump(newest));
  ExpectRead(newest, 5, fifth);
  ExpectRead(newest, 4, fifth);
  TestReport third = fifth;
  TakeFourthAway(&third);
  ASSERT_NE(Dump(third), Dump(fifth));
  ExpectRead(newest, 3, third);
  TestReport second = third;  // without the depth of fields
  for (ReplayFrame& frame : second.replay.frames)
    for (ReplayField& field : frame.fields) field.depth = 1;
  ASSERT_NE(Dump(second), Dump(third));
  ExpectRead(newest, 2, second);
  TestReport first = second;  // nor what it costs to watch functions
  SnapshotFigures& figures = first.snapshots->figures;
  figures.entries = figures.entries_ns = figures.faults_ns = 0;
  ASSERT_NE(Dump(first), Dump(second));
  ExpectRead(newest, 1, first);
}

TEST(FirstVersion, HasItsFields) {
  TestReport report = FullReport();
  TakeFourthAway(&report);
  for (ReplayFrame& frame : report.replay.frames)
    for (ReplayField& field : frame.fields) field.depth = 1;
  for (EntryState& state : report.replay.entry_states) {
    state.origin = Origin::kRecorded;
    state.outer = 0;
    state.copied_depth = 0;
    state.memory = {};
  }
  for (EntryState& state : report.snapshots->states) {
    state.copied_depth = 0;
    state.copies_cut = false;
    state.memory = {};
  }
  SnapshotFigures& figures = report.snapshots->figures;
  figures.entries = figures.entries_ns = figures.faults_ns = 0;
  TestReport back = report;
  back.replay = {};
  back.snapshots.emplace();
  const std::vector<uint8_t> replay = *EncodeReplay(report.replay, 1);
  const std::vector<uint8_t> snapshots = *EncodeSnapshots(*report.snapshots, 1);
  ASSERT_TRUE(DecodeReplay(replay, 1, &back.replay));
  ASSERT_TRUE(DecodeSnapshots(snapshots, 1, &*back.snapshots));
  for (size_t i = 0; i < back.replay.images.size(); ++i)
    back.replay.images[i].read_only = report.replay.images[i].read_only;
  EXPECT_EQ(Dump(back), Dump(report));
  EXPECT_FALSE(DecodeReplay(replay, 2, &back.replay));
  EXPECT_FALSE(DecodeSnapshots(snapshots, 2, &*back.snapshots));
}

// An empty region says nothing, and a reader would have to place it among its neighbours.
TEST_F(RoundTrip, DropsEmptyRegions) {
  Report report;
  report.memory = {{{0x1000}, {1, 2}}, {{0x2000}, {}}, {{0x3000}, {3}}};
  const Report back = There(report);
  ASSERT_EQ(back.memory.size(), 2u);
  EXPECT_EQ(back.memory[1].address.value, 0x3000u);
}

// Zero pages pack 20,000 to 1, more than a reader allows of a large section: the writer stays below that.
TEST_F(RoundTrip, KeepsManyZeroPages) {
  // A little more than is free, so that the chunk that makes up for it is short.
  for (const size_t size : {258u << 20, (256u << 20) + 4096u}) {
    Report report;
    report.memory = {{{0x10000}, std::vector<uint8_t>(size)}};
    const Report back = There(report);
    ASSERT_EQ(back.memory.size(), 1u) << size;
    EXPECT_TRUE(back.memory[0].bytes == report.memory[0].bytes) << size;
  }
}

// A report holds memory of a process, secrets included.
TEST_F(RoundTrip, IsForTheUserOnly) {
  const mode_t before = umask(0);
  ASSERT_TRUE(WriteReport(SmallReport(), path_));
  umask(before);
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_THAT(directory_.names(), ElementsAre("a.rcr"));
}

TEST_F(RoundTrip, TakesTheOldReportsPlace) {
  ASSERT_TRUE(WriteReport(FullReport(), path_));
  EXPECT_EQ(Dump(There(SmallReport())), Dump(SmallReport()));
  EXPECT_THAT(directory_.names(), ElementsAre("a.rcr"));
}

}  // namespace
}  // namespace recrash
