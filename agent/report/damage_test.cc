// A damaged report gives one sentence: never a crash, never another content, never unbounded memory or time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zstd.h>

#include <cstring>
#include <ctime>
#include <random>

#include "agent/report/archive.h"
#include "agent/report/crc32c.h"
#include "agent/report/format.h"
#include "agent/report/reader.h"
#include "agent/report/testing_reports.h"
#include "agent/report/writer.h"

namespace recrash {
namespace {

using format::Compression;
using format::Section;
using format::SectionKind;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Bytes = std::vector<uint8_t>;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECRASH_ADDRESS_SANITIZER 1
#endif
#endif

// No more address space than `size` beyond what is in use, while it lives. (Not under AddressSanitizer, whose shadow
// takes terabytes.)
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t size) {
    getrlimit(RLIMIT_AS, &before_);
#ifndef RECRASH_ADDRESS_SANITIZER
    std::FILE* statm = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (statm == nullptr || std::fscanf(statm, "%lu", &pages) != 1) ADD_FAILURE() << "/proc/self/statm";
    if (statm != nullptr) std::fclose(statm);
    const rlimit limit{pages * 4096 + size, before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
#else
    static_cast<void>(size);
#endif
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_;
};

struct Part {
  uint32_t kind;
  Bytes stored;
  uint64_t length;
  Compression compression = Compression::kNone;
  uint32_t flags = 0;
};

Part Plain(SectionKind kind, Bytes bytes, uint32_t flags = 0) {
  const uint64_t length = bytes.size();
  return {static_cast<uint32_t>(kind), std::move(bytes), length, Compression::kNone, flags};
}

// A container whose checksums are right whatever it holds.
Bytes Container(std::vector<Part> parts) {
  std::vector<Section> table;
  format::Header header{};
  std::memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.section_count = parts.size();
  uint64_t offset = sizeof header + parts.size() * sizeof(Section);
  for (const Part& part : parts) {
    table.push_back({part.kind, part.flags, offset, part.stored.size(), part.length,
                     ExtendCrc32c(0, part.stored.data(), part.stored.size()), static_cast<uint32_t>(part.compression)});
    offset += part.stored.size();
  }
  header.file_size = offset;
  header.crc = ExtendCrc32c(ExtendCrc32c(0, &header, sizeof header), table.data(), table.size() * sizeof(Section));
  Bytes bytes(offset);
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!table.empty()) std::memcpy(bytes.data() + sizeof header, table.data(), table.size() * sizeof(Section));
  uint8_t* out = bytes.data() + sizeof header + table.size() * sizeof(Section);
  for (const Part& part : parts) out = std::ranges::copy(part.stored, out).out;
  return bytes;
}

template <typename T>
void Put(Bytes* bytes, T value) {
  const auto* raw = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), raw, raw + sizeof value);
}

Bytes Runs(std::vector<format::Run> runs, size_t bytes_behind) {
  Bytes bytes;
  Put<uint64_t>(&bytes, runs.size());
  for (const format::Run& run : runs) Put(&bytes, run);
  bytes.resize(bytes.size() + bytes_behind, 7);
  return bytes;
}

// Of a report that needs no section of inputs.
Bytes Metadata() {
  Report report = SmallReport();
  report.inputs.clear();
  return *EncodeMetadata(report);
}
Bytes NoMemory() { return Runs({}, 0); }

class Damage : public testing::Test {
 protected:
  Result<Report> Read(const Bytes& bytes) {
    WriteBytes(path_, bytes);
    return ReadReport(path_);
  }

  // One sentence that begins with the path.
  void ExpectDamaged(const Bytes& bytes, const std::string& why = "") {
    Result<Report> report = Read(bytes);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kDamaged) << report.error().message;
    EXPECT_THAT(report.error().message, StartsWith(path_ + ": damaged report: "));
    EXPECT_THAT(report.error().message, HasSubstr(why));
    EXPECT_THAT(report.error().message, Not(HasSubstr("\n")));
  }

  Bytes SmallFile() {
    EXPECT_TRUE(WriteReport(SmallReport(), path_));
    return ReadBytes(path_);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.rcr";
};

TEST_F(Damage, OfEachByteIsFound) {
  const Bytes good = SmallFile();
  ASSERT_LT(good.size(), 3000u);
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x80, 0xff}) {
      Bytes bad = good;
      bad[i] ^= flip;
      Result<Report> report = Read(bad);
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
  bytes[offsetof(format::Header, version)] = 2;
  Result<Report> report = Read(bytes);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::kUnsupportedVersion);
  EXPECT_THAT(report.error().message, StartsWith(path_ + ": report version 2, newest understood is 1\n"));
}

TEST_F(Damage, IsNotAnOptionalSectionOfAnUnknownKind) {
  const Part unknown{77, {1, 2, 3}, 1000, static_cast<Compression>(9), format::kOptional};
  Result<Report> report =
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

class HostileMetadata : public Damage {
 protected:
  void ExpectMetadataDamaged(const Bytes& metadata, const std::string& why) {
    ExpectDamaged(Container({Plain(SectionKind::kMetadata, metadata), Plain(SectionKind::kMemory, NoMemory())}),
                  "metadata: " + why);
  }
};

// The first field is the pid, the second the program's path.
TEST_F(HostileMetadata, WithAStringThatIsNotThere) {
  Bytes metadata = Metadata();
  for (const uint32_t length : {UINT32_MAX, format::kMaxString + 1, format::kMaxString, uint32_t(metadata.size())}) {
    std::memcpy(metadata.data() + 4, &length, sizeof length);
    ExpectMetadataDamaged(metadata, "a string of " + std::to_string(length));
  }
}

TEST_F(HostileMetadata, WithAListThatIsNotThere) {
  Bytes metadata = Metadata();
  const size_t arguments = 4 + 4 + std::strlen("/bin/x") + 4;
  for (const uint32_t count : {UINT32_MAX, format::kMaxCount, uint32_t(metadata.size() / 4)}) {
    std::memcpy(metadata.data() + arguments, &count, sizeof count);
    ExpectMetadataDamaged(metadata, "a list of " + std::to_string(count));
  }
}

TEST_F(HostileMetadata, WithTooMuchOrTooLittle) {
  const Bytes good = Metadata();
  for (size_t size = 0; size < good.size(); ++size) {
    Report report;
    EXPECT_FALSE(DecodeMetadata(std::span(good).first(size), &report)) << size;
  }
  Bytes longer = good;
  longer.push_back(0);
  ExpectMetadataDamaged(longer, "1 bytes too many");
}

TEST_F(HostileMetadata, WithValuesThatNoWriterMakes) {
  const auto encoded = [](auto change) {
    Report report = FullReport();
    change(report);
    return *EncodeMetadata(report);
  };
  ExpectMetadataDamaged(encoded([](Report& r) { r.failure.kind = static_cast<FailureKind>(9); }), "unknown kind");
  ExpectMetadataDamaged(encoded([](Report& r) { r.threads[0].registers.fxsave.resize(8); }), "a thread's floating");
  ExpectMetadataDamaged(encoded([](Report& r) { r.mappings[0].end = {1}; }), "a mapping ends");
  ExpectMetadataDamaged(encoded([](Report& r) { r.modules[0].size = UINT64_MAX; }), "a module is larger");
  ExpectMetadataDamaged(encoded([](Report& r) { r.inputs[0].content = static_cast<InputContent>(0); }), "an input of");
  ExpectMetadataDamaged(encoded([](Report& r) { r.inputs[0].content = static_cast<InputContent>(6); }), "an input of");
  ExpectMetadataDamaged(encoded([](Report& r) { r.inputs[0].sha256.pop_back(); }), "an input's SHA-256");
  ExpectMetadataDamaged(encoded([](Report& r) { r.files[0].input = 4; }), "an open file is an input");
  ExpectMetadataDamaged(encoded([](Report& r) { r.files[0].input = -2; }), "an open file is an input");
  ExpectMetadataDamaged(encoded([](Report& r) { r.thrown->address = {UINT64_MAX - 8}; }), "the stack of the throw");
}

// Eight million empty strings: 256 MB of memory, told by 32 MB that a file of a few kilobytes unpacks to.
TEST_F(HostileMetadata, ThatUnpacksToFarMoreThanItIs) {
  Bytes metadata = Metadata();
  metadata.resize(60u << 20);
  const size_t arguments = 4 + 4 + std::strlen("/bin/x") + 4;
  const uint32_t count = format::kMaxCount;
  std::memcpy(metadata.data() + arguments, &count, sizeof count);
  Bytes stored;
  for (size_t at = 0; at < metadata.size(); at += format::kMaxChunk) {
    Bytes packed(ZSTD_compressBound(format::kMaxChunk));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), metadata.data() + at, format::kMaxChunk, 3));
    Put(&stored, format::Chunk{uint32_t(packed.size()), format::kMaxChunk});
    stored.insert(stored.end(), packed.begin(), packed.end());
  }
  const Bytes file =
      Container({{1, stored, metadata.size(), Compression::kZstdChunks}, Plain(SectionKind::kMemory, NoMemory())});
  EXPECT_LT(file.size(), 10000u);
  metadata = {};
  const MemoryLimit limit(512u << 20);
  ExpectDamaged(file, "metadata: ");
}

class HostileMemory : public Damage {
 protected:
  void ExpectMemoryDamaged(const Part& memory, const std::string& why) {
    ExpectDamaged(Container({Plain(SectionKind::kMetadata, Metadata()), memory}), "memory: " + why);
  }
  void ExpectRunsDamaged(const Bytes& runs, const std::string& why) {
    ExpectMemoryDamaged(Plain(SectionKind::kMemory, runs), why);
  }
};

TEST_F(HostileMemory, WithRunsThatAreNone) {
  ExpectRunsDamaged({}, "needs 8 bytes, 0 are left");
  ExpectRunsDamaged(Runs({{0x1000, 0}}, 1), "run 0 is empty");
  ExpectRunsDamaged(Runs({{0x1000, 2}}, 1), "run 0");
  ExpectRunsDamaged(Runs({{0x1000, 2}}, 3), "1 bytes too many");
  ExpectRunsDamaged(Runs({{0x1000, 2}, {0x1001, 2}}, 4), "run 1");
  ExpectRunsDamaged(Runs({{0x2000, 2}, {0x1000, 2}}, 4), "run 1");
  ExpectRunsDamaged(Runs({{UINT64_MAX - 1, 2}}, 2), "run 0");
  ExpectRunsDamaged(Runs({{0x1000, UINT64_MAX}}, 2), "run 0");
  for (const uint64_t count : {UINT64_MAX, uint64_t{1} << 60, uint64_t{2}}) {
    Bytes runs = Runs({{0x1000, 2}}, 2);
    std::memcpy(runs.data(), &count, sizeof count);
    ExpectRunsDamaged(runs, std::to_string(count) + " runs in 18 bytes");
  }
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
  const Result<Report> report =
      Read(file({{{0x1000}, {}, {}}, {{0x2000}, {}, {}}}, Runs({{0x1ff0, 2}, {0x2000, 2}}, 4)));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->replay->images[0].read_only.size(), 1u);
  EXPECT_EQ(report->replay->images[1].read_only.size(), 1u);
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
  ExpectDamaged(file({{2, {}, {}, {}, {}, {}}, {1, {}, {}, {}, {}, {}}}, {run, run}),
                "the entry states of frames are out of order");
  ExpectDamaged(file({{1, {}, {}, {}, {}, {}}, {1, {}, {}, {}, {}, {}}}, {run, run}),
                "the entry states of frames are out of order");
  ExpectDamaged(file({{1, {}, {{{0x2000}, {0x2000}, 0, 0, ""}}, {}, {}, {}}}, {run}), "a mapping ends");
  ExpectDamaged(file({{1, {}, {}, {}, {}, {}}, {2, {}, {}, {}, {}, {}}}, {run}),
                "entry states: needs 8 bytes, 0 are left");
  ExpectDamaged(file({{1, {}, {}, {}, {}, {}}}, {run, run}), "entry states: ");
  ExpectDamaged(file({}, {run}), "entry states: ");
  ExpectDamaged(file({{1, {}, {}, {}, {}, {}}}, {Runs({{0x2000, 2}, {0x1000, 2}}, 4)}), "entry states: run 1");
  ExpectDamaged(Container(parts({{1, {}, {}, {}, {}, {}}})), "has entry states, and not their memory");
  const Result<Report> report = Read(file({{1, {}, {}, {}, {}, {}}, {2, {}, {}, {}, {}, {}}}, {run, run}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->replay->FindEntryState(2)->memory.size(), 1u);
  EXPECT_EQ(report->replay->FindEntryState(3), nullptr);
}

// How long each is stands in the metadata, what they hold in the section: the two have to agree before it is cut.
TEST_F(Damage, IsASectionOfInputsThatTheMetadataDoNotSay) {
  const auto file = [](const std::vector<uint64_t>& sizes, const Bytes& contents, bool section = true) {
    Report report = SmallReport();
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
  const Result<Report> report = Read(file({1, 0, 2}, {1, 2, 3}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->inputs[0].bytes, Bytes({1}));
  EXPECT_EQ(report->inputs[1].bytes, Bytes());
  EXPECT_EQ(report->inputs[2].bytes, Bytes({2, 3}));
}

Part Packed(uint64_t length, Bytes stored) { return {2, std::move(stored), length, Compression::kZstdChunks}; }

Part Words(uint64_t length, Bytes stored) { return {2, std::move(stored), length, Compression::kZstdWords}; }

Bytes OneChunk(format::Chunk chunk, const Bytes& packed) {
  Bytes bytes;
  Put(&bytes, chunk);
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  return bytes;
}

Bytes Zstd(const Bytes& bytes) {
  Bytes packed(ZSTD_compressBound(bytes.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

TEST_F(HostileMemory, WithLengthsThatCannotBe) {
  ExpectMemoryDamaged(Packed(uint64_t{1} << 62, {1}), "1 bytes that would unpack to 4611686018427387904");
  ExpectMemoryDamaged(Packed(format::kFreeLength + 256, {1}), "1 bytes that would unpack to 268435712");
  ExpectMemoryDamaged({2, {1}, 2, Compression::kNone}, "1 bytes stored of 2");
  ExpectMemoryDamaged({2, {1}, 1, static_cast<Compression>(3)}, "compression 3");
  // A byte of packed words stands for eight.
  ExpectMemoryDamaged(Words(format::kFreeLength / 8 + 256, {1}), "1 bytes that would unpack to 33554688");
}

TEST_F(HostileMemory, WithWordsThatAreNone) {
  const auto expect = [&](const Bytes& runs, const std::string& why) {
    const uint32_t size = runs.size();
    ExpectMemoryDamaged(Words(size, OneChunk({size, size}, runs)), why);
  };
  // `Runs` fills with 7: a difference, whose argument takes four bytes.
  expect(Runs({{0x1000, 16}}, 1), "run 0");
  expect(Runs({{0x1000, 17}}, 2), "run 0");
  expect(Runs({{0x1000, UINT64_MAX - 0x1000}}, 2), "run 0");
  expect(Runs({{0x1000, 16}}, 9), "needs 8 bytes, 7 are left");
  expect(Runs({{0x1000, 16}}, 11), "1 bytes too many");
  expect(Runs({{0x1000, 17}}, 10), "needs 1 bytes, 0 are left");
  expect(Runs({{0x1000, 8}, {0x1004, 8}}, 10), "run 1");
}

TEST_F(Damage, IsPackedWordsWhereRecordsBelong) {
  const Bytes metadata = Metadata();
  const uint32_t size = metadata.size();
  ExpectDamaged(Container({{1, OneChunk({size, size}, metadata), size, Compression::kZstdWords},
                           Plain(SectionKind::kMemory, NoMemory())}),
                "metadata: compression 2");
}

// Two mebibytes of zero words in a hundred bytes: within the section's limit, beyond the reader's.
TEST_F(HostileMemory, OfZeroWordsBeyondTheReadersOwnLimit) {
  Report report;
  report.memory = {{{0x10000}, Bytes(2u << 20)}};
  ASSERT_TRUE(WriteReport(report, path_));
  EXPECT_TRUE(ReadReport(path_, {.memory = 2u << 20}));
  const Result<Report> refused = ReadReport(path_, {.memory = 1u << 20});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("runs of 2097152 bytes, at most 1048576"));
}

TEST_F(HostileMemory, WithChunksThatAreNot) {
  const Bytes packed = Zstd(Bytes(5000));
  const uint32_t size = packed.size();
  ExpectMemoryDamaged(Packed(8, {1, 2, 3}), "ends early");
  ExpectMemoryDamaged(Packed(5000, OneChunk({size, 0}, packed)), "a chunk of");
  ExpectMemoryDamaged(Packed(4999, OneChunk({size, 5000}, packed)), "a chunk of");
  ExpectMemoryDamaged(Packed(5000, OneChunk({size + 1, 5000}, packed)), "a chunk of");
  ExpectMemoryDamaged(Packed(5000, OneChunk({UINT32_MAX, UINT32_MAX}, packed)), "a chunk of");
  ExpectMemoryDamaged(Packed(6000, OneChunk({size, 6000}, packed)), "a chunk does not unpack");
  ExpectMemoryDamaged(Packed(4000, OneChunk({size, 4000}, packed)), "a chunk does not unpack");
  ExpectMemoryDamaged(Packed(5000, OneChunk({size - 1, 5000}, packed)), "a chunk does not unpack");
  // All is well up to the section's length, and then there is more.
  Bytes more = OneChunk({8, 8}, NoMemory());
  more.push_back(0);
  ExpectMemoryDamaged(Packed(8, more), "1 stored bytes too many");
}

// 256 MiB are promised, in one run; nothing is allocated for bytes that do not come.
TEST_F(HostileMemory, ThatPromisesMuch) {
  const uint64_t length = format::kFreeLength;
  const Bytes first = Runs({{0x10000, length - 24}}, 1000);
  const Bytes packed = Zstd(first);
  Bytes file = Container({Plain(SectionKind::kMetadata, Metadata()),
                          Packed(length, OneChunk({uint32_t(packed.size()), uint32_t(first.size())}, packed))});
  const MemoryLimit limit(16u << 20);
  ExpectDamaged(file, "memory: ends early");
}

TEST_F(HostileMemory, BeyondTheReadersOwnLimit) {
  ASSERT_TRUE(WriteReport(FullReport(), path_));
  EXPECT_TRUE(ReadReport(path_, {.memory = 4u << 20}));
  Result<Report> report = ReadReport(path_, {.memory = 1u << 20});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("memory: "));
}

// What comes back from a mutant is used as a reader would use it.
void Use(const Report& report) {
  EXPECT_FALSE(Dump(report).empty());
  for (const Thread& thread : report.threads) {
    const TargetAddress pc{thread.registers.pc()};
    report.FindModule(pc);
    report.FindMapping(pc);
    report.ReadWord({thread.registers.sp()});
  }
  for (const Region& region : report.memory) {
    Bytes bytes(region.bytes.size());
    EXPECT_TRUE(report.Read(region.address, bytes));
  }
}

// Mutations below right checksums, as somebody who means harm would make them: with the sections plain, so that they
// reach the decoders, and as written, so that they reach zstd.
class Mutants : public Damage {
 protected:
  void Mutate(std::vector<Part> parts, int rounds) {
    std::mt19937 random(20);
    int survived = 0;
    const std::clock_t start = std::clock();  // of the processor: the machine may be busy
    const MemoryLimit limit(256u << 20);
    for (int round = 0; round < rounds; ++round) {
      std::vector<Part> mutants = parts;
      Part& part = mutants[random() % mutants.size()];
      for (unsigned changes = 1 + random() % 3; changes > 0; --changes) Change(&part.stored, &random);
      if (part.compression == Compression::kNone) part.length = part.stored.size();
      Result<Report> report = Read(Container(mutants));
      if (!report) continue;
      Use(*report);
      ++survived;
    }
    EXPECT_LT(std::clock() - start, rounds * CLOCKS_PER_SEC / 50);
    EXPECT_GT(survived, 0);
    EXPECT_LT(survived, rounds);
  }

 private:
  static void Change(Bytes* bytes, std::mt19937* random) {
    const size_t at = (*random)() % bytes->size();
    constexpr uint32_t kTelling[] = {0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000, 0x800000};
    switch ((*random)() % 4) {
      case 0:
        (*bytes)[at] ^= 1 << ((*random)() % 8);
        break;
      case 1:
        (*bytes)[at] = static_cast<uint8_t>((*random)());
        break;
      case 2: {
        const uint32_t value = kTelling[(*random)() % std::size(kTelling)];
        std::memcpy(bytes->data() + at, &value, std::min(sizeof value, bytes->size() - at));
        break;
      }
      default:
        if (bytes->size() > 1) bytes->erase(bytes->begin() + static_cast<long>(at));
    }
  }
};

TEST_F(Mutants, OfPlainSections) {
  Report full = FullReport();
  for (Region& region : full.memory) region.bytes.resize(100);
  Bytes inputs;
  for (const Input& input : full.inputs) inputs.insert(inputs.end(), input.bytes.begin(), input.bytes.end());
  std::vector<Region> image;
  for (const ModuleImage& module : full.replay->images)
    for (const Region& region : module.read_only) image.push_back(region);
  for (Region& region : image) region.bytes.resize(100);
  const auto runs = [](const std::vector<Region>& regions) {
    std::vector<format::Run> table;
    for (const Region& region : regions) table.push_back({region.address.value, region.bytes.size()});
    Bytes bytes = Runs(table, 0);
    for (const Region& region : regions) bytes.insert(bytes.end(), region.bytes.begin(), region.bytes.end());
    return bytes;
  };
  Bytes states;
  for (const EntryState& state : full.replay->entry_states) {
    const Bytes pages = runs(state.memory);
    states.insert(states.end(), pages.begin(), pages.end());
  }
  Mutate({Plain(SectionKind::kMetadata, *EncodeMetadata(full)), Plain(SectionKind::kMemory, runs(full.memory)),
          Plain(SectionKind::kReplay, *EncodeReplay(*full.replay), format::kOptional),
          Plain(SectionKind::kImage, runs(image), format::kOptional),
          Plain(SectionKind::kEntryStates, states, format::kOptional),
          Plain(SectionKind::kInputs, inputs, format::kOptional)},
         6000);
}

TEST_F(Mutants, OfPackedSections) {
  const Bytes file = SmallFile();
  std::vector<Part> parts;
  format::Header header;
  std::memcpy(&header, file.data(), sizeof header);
  for (uint32_t i = 0; i < header.section_count; ++i) {
    Section section;
    std::memcpy(&section, file.data() + sizeof header + i * sizeof section, sizeof section);
    const auto begin = file.begin() + static_cast<long>(section.offset);
    parts.push_back({section.kind, Bytes(begin, begin + static_cast<long>(section.stored_length)), section.length,
                     static_cast<Compression>(section.compression), section.flags});
  }
  ASSERT_EQ(parts.size(), 6u);
  Mutate(parts, 6000);
}

}  // namespace
}  // namespace recrash
