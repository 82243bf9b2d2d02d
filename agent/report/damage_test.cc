// A damaged report gives one sentence: never a crash, never another content, never unbounded memory or time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/report/archive.h"
#include "agent/report/testing_damaged_report.h"

namespace recrash {
namespace {

using format::Compression;
using format::SectionKind;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(Damage, OfEachByteIsFound) {
  const Bytes good = SmallFile();
  ASSERT_LT(good.size(), 3000u);
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x80, 0xff}) {
      Bytes bad = good;
      bad[i] ^= flip;
      Result<TestReport> report = Read(bad);
      ASSERT_FALSE(report) << "byte " << i << " ^ " << +flip;
      EXPECT_THAT(report.error().code, AnyOf(Eq(Errc::kDamaged), Eq(Errc::kUnsupportedVersion)));
    }
  }
  EXPECT_TRUE(Read(good));
}

TEST_F(Damage, OfEachTruncationIsFound) {
  const Bytes good = SmallFile();
  for (size_t size = 0; size < good.size(); ++size) ExpectDamaged(Bytes(good.begin(), good.begin() + size));
}

TEST_F(Damage, IsAnythingBehindTheEnd) {
  for (const size_t extra : {1, 4096}) {
    Bytes bytes = SmallFile();
    bytes.resize(bytes.size() + extra);
    ExpectDamaged(bytes, "its header says");
  }
}

TEST_F(Damage, IsAnotherKindOfFile) {
  ExpectDamaged({}, "ends at byte 0");
  ExpectDamaged(Bytes(100, 'x'), "does not begin as a report does");
  EXPECT_EQ(ReadReport(directory_ / "none.rcr").error().code, Errc::kMissing);
  EXPECT_EQ(ReadReport(directory_.path()).error().code, Errc::kRefused);
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(ReadReport(fifo).error().code, Errc::kRefused);
}

TEST_F(Damage, IsToldFromANewerVersion) {
  Bytes bytes = SmallFile();
  bytes[offsetof(format::Header, version)] = format::kVersion + 1;
  Result<TestReport> report = Read(bytes);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kUnsupportedVersion);
  EXPECT_THAT(report.error().message, StartsWith(path_ + ": report version 10, newest understood is 9\n"));
}

TEST_F(Damage, IsNotAnOptionalSectionOfAnUnknownKind) {
  const Part unknown{77, {1, 2, 3}, 1000, static_cast<Compression>(9), format::kOptional};
  Result<TestReport> report =
      Read(Container({unknown, Plain(SectionKind::kMetadata, Metadata()), Plain(SectionKind::kMemory, NoMemory())}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->process.program, "/bin/x");

  Part required = unknown;
  required.flags = 0;
  report =
      Read(Container({required, Plain(SectionKind::kMetadata, Metadata()), Plain(SectionKind::kMemory, NoMemory())}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kUnsupportedVersion);
  EXPECT_THAT(report.error().message, HasSubstr("section of kind 77"));
}

TEST_F(Damage, IsASectionTooFewOrTooMany) {
  const Part metadata = Plain(SectionKind::kMetadata, Metadata());
  const Part memory = Plain(SectionKind::kMemory, NoMemory());
  EXPECT_TRUE(Read(Container({metadata, memory})));
  EXPECT_TRUE(Read(Container({memory, metadata})));
  ExpectDamaged(Container({}), "no metadata or no memory");
  ExpectDamaged(Container({metadata}), "no metadata or no memory");
  ExpectDamaged(Container({memory}), "no metadata or no memory");
  ExpectDamaged(Container({metadata, memory, memory}), "a second memory section");
  ExpectDamaged(Container(std::vector<Part>(65, metadata)), "a table of 65 sections");
}

// Types name each other by their places.
TEST_F(Damage, IsATypeThatIsNotThere) {
  const auto file = [](const ModuleImage& image) {
    ReplayData replay;
    replay.images = {image};
    return Container({Plain(SectionKind::kMetadata, Metadata()), Plain(SectionKind::kMemory, NoMemory()),
                      Plain(SectionKind::kReplay, *EncodeReplay(replay), format::kOptional)});
  };
  const auto image = [](const TypeLayout& type) { return ModuleImage{{0x1000}, {}, {}, {{}, type}, {}}; };
  EXPECT_TRUE(Read(file(image({.form = TypeForm::kPointer, .size = 8, .target = 1}))));
  ExpectDamaged(file(image({.form = TypeForm::kPointer, .size = 8, .target = 2})), "leads to one that is not there");
  ExpectDamaged(file(image({.arguments = {2}})), "leads to one that is not there");
  ExpectDamaged(file(image({.derived = {2}})), "leads to one that is not there");
  ExpectDamaged(file(image({.members = {{MemberRole::kMember, "next", 0, 2}}})), "leads to one that is not there");
  ExpectDamaged(file(image({.form = static_cast<TypeForm>(10)})), "a type of unknown form");
  ExpectDamaged(file(image({.members = {{static_cast<MemberRole>(5), "next", 0, 0}}})), "a member of unknown role");
  ExpectDamaged(file({{0x1000}, {}, {}, {}, {{"all", 0, 1}}}), "a variable is of a type that is not there");
}

// Images tell whose a run is: by their order, and by lying below it.
TEST_F(Damage, IsAnImageOutOfPlace) {
  const auto file = [](const std::vector<ModuleImage>& images, const Bytes& runs) {
    ReplayData replay;
    replay.images = images;
    return Container({Plain(SectionKind::kMetadata, Metadata()), Plain(SectionKind::kMemory, NoMemory()),
                      Plain(SectionKind::kReplay, *EncodeReplay(replay), format::kOptional),
                      Plain(SectionKind::kImage, runs, format::kOptional)});
  };
  ExpectDamaged(file({{{0x2000}, {}, {}}, {{0x1000}, {}, {}}}, Runs({}, 0)), "images of modules are out of order");
  ExpectDamaged(file({{{0x1000}, {}, {}}, {{0x1000}, {}, {}}}, Runs({}, 0)), "images of modules are out of order");
  ExpectDamaged(file({{{0x2000}, {}, {}}}, Runs({{0x1ff0, 2}}, 2)), "a run below the first module's image");
  ExpectDamaged(file({}, Runs({{0x1ff0, 2}}, 2)), "a run below the first module's image");
  const Result<TestReport> report =
      Read(file({{{0x1000}, {}, {}}, {{0x2000}, {}, {}}}, Runs({{0x1ff0, 2}, {0x2000, 2}}, 4)));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->replay.images[0].read_only.size(), 1u);
  EXPECT_EQ(report->replay.images[1].read_only.size(), 1u);
}

// The runs of each entry state stand by themselves: they may overlap those of another, and must all be there.
TEST_F(Damage, IsAnEntryStateOutOfPlace) {
  const auto parts = [](const std::vector<EntryState>& states) {
    ReplayData replay;
    replay.entry_states = states;
    return std::vector<Part>{Plain(SectionKind::kMetadata, Metadata()), Plain(SectionKind::kMemory, NoMemory()),
                             Plain(SectionKind::kReplay, *EncodeReplay(replay), format::kOptional)};
  };
  const auto file = [&](const std::vector<EntryState>& states, const std::vector<Bytes>& runs) {
    std::vector<Part> all = parts(states);
    Bytes joined;
    for (const Bytes& piece : runs) joined.insert(joined.end(), piece.begin(), piece.end());
    all.push_back(Plain(SectionKind::kEntryStates, joined, format::kOptional));
    return Container(all);
  };
  const Bytes run = Runs({{0x1000, 2}}, 2);
  const auto of = [](uint32_t frame) {
    EntryState state;
    state.frame = frame;
    return state;
  };
  ExpectDamaged(file({of(2), of(1)}, {run, run}), "the entry states of frames are out of order");
  ExpectDamaged(file({of(1), of(1)}, {run, run}), "the entry states of frames are out of order");
  EntryState mapped = of(1);
  mapped.mappings = {{{0x2000}, {0x2000}, 0, 0, ""}};
  ExpectDamaged(file({mapped}, {run}), "a mapping ends");
  ExpectDamaged(file({of(1), of(2)}, {run}), "entry states: needs 8 bytes, 0 are left");
  ExpectDamaged(file({of(1)}, {run, run}), "entry states: ");
  ExpectDamaged(file({}, {run}), "entry states: ");
  ExpectDamaged(file({of(1)}, {Runs({{0x2000, 2}, {0x1000, 2}}, 4)}), "entry states: run 1");
  ExpectDamaged(Container(parts({of(1)})), "has entry states, and not their memory");
  const Result<TestReport> report = Read(file({of(1), of(2)}, {run, run}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->replay.FindEntryState(2)->memory.own().size(), 1u);
  EXPECT_EQ(report->replay.FindEntryState(3), nullptr);
}

// The same of what the program recorded itself.
TEST_F(Damage, IsASnapshotOutOfPlace) {
  const auto parts = [](const std::vector<EntryState>& states) {
    SnapshotLog log;
    log.states = states;
    return std::vector<Part>{Plain(SectionKind::kMetadata, Metadata()), Plain(SectionKind::kMemory, NoMemory()),
                             Plain(SectionKind::kSnapshots, *EncodeSnapshots(log), format::kOptional)};
  };
  const auto file = [&](const std::vector<EntryState>& states, const std::vector<Bytes>& runs) {
    std::vector<Part> all = parts(states);
    Bytes joined;
    for (const Bytes& piece : runs) joined.insert(joined.end(), piece.begin(), piece.end());
    all.push_back(Plain(SectionKind::kSnapshotPages, joined, format::kOptional));
    return Container(all);
  };
  const auto numbered = [](uint64_t number) {
    EntryState state;
    state.number = number;
    return state;
  };
  const Bytes run = Runs({{0x1000, 2}}, 2);
  ExpectDamaged(file({numbered(2), numbered(1)}, {run, run}), "the snapshots of entries are out of order");
  ExpectDamaged(file({numbered(1), numbered(1)}, {run, run}), "the snapshots of entries are out of order");
  EntryState mapped = numbered(1);
  mapped.mappings = {{{0x2000}, {0x2000}, 0, 0, ""}};
  ExpectDamaged(file({mapped}, {run}), "a mapping ends");
  ExpectDamaged(file({numbered(1), numbered(2)}, {run}), "snapshot pages: needs 8 bytes, 0 are left");
  ExpectDamaged(file({numbered(1)}, {run, run}), "snapshot pages: ");
  ExpectDamaged(file({numbered(1)}, {Runs({{0x2000, 2}, {0x1000, 2}}, 4)}), "snapshot pages: run 1");
  ExpectDamaged(Container(parts({numbered(1)})), "has snapshots, and not their pages");
  const Result<TestReport> report = Read(file({numbered(1), numbered(2)}, {run, run}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->snapshots->states[0].memory.layers().size(), 2u);
  EXPECT_EQ(report->snapshots->states[1].memory.own().size(), 1u);
}

// How long each is stands in the metadata, what they hold in the section: the two have to agree before it is cut.
TEST_F(Damage, IsASectionOfInputsThatTheMetadataDoNotSay) {
  const auto file = [](const std::vector<uint64_t>& sizes, const Bytes& contents, bool section = true) {
    TestReport report = SmallReport();
    report.inputs.clear();
    for (const uint64_t size : sizes) report.inputs.push_back({{}, "/in", size, "", InputContent::kHeld, {}});
    std::vector<Part> parts = {Plain(SectionKind::kMetadata, *EncodeMetadata(report)),
                               Plain(SectionKind::kMemory, NoMemory())};
    if (section) parts.push_back(Plain(SectionKind::kInputs, contents, format::kOptional));
    return Container(parts);
  };
  ExpectDamaged(file({3}, {1, 2}), "inputs: 2 bytes, the metadata says 3");
  ExpectDamaged(file({3}, {1, 2, 3, 4}), "inputs: 4 bytes, the metadata says 3");
  ExpectDamaged(file({}, {1}), "inputs: 1 bytes, the metadata says 0");
  ExpectDamaged(file({3}, {}, false), "inputs: 0 bytes, the metadata says 3");
  ExpectDamaged(file({format::kMaxInputs + 1}, {1}), "an input is larger than its section can be");
  ExpectDamaged(file({UINT64_MAX, 2}, {1}), "an input is larger than its section can be");
  ExpectDamaged(file(std::vector<uint64_t>(1000, format::kMaxInputs), {1}), "inputs: 1 bytes, the metadata says 6710");
  const Result<TestReport> report = Read(file({1, 0, 2}, {1, 2, 3}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->inputs[0].bytes, Bytes({1}));
  EXPECT_EQ(report->inputs[1].bytes, Bytes());
  EXPECT_EQ(report->inputs[2].bytes, Bytes({2, 3}));
}

}  // namespace
}  // namespace recrash
