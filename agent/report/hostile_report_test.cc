// Reports with right checksums over contents that no writer makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "agent/bundle/zip_format.h"
#include "agent/bundle/zip_writer.h"
#include "agent/report/archive.h"
#include "agent/report/testing_damaged_report.h"
#include "agent/report/testing_memory_limit.h"

namespace recrash {
namespace {

using format::Compression;
using format::SectionKind;
using testing::HasSubstr;

// In a bundle. It says that it is small, and unpacks to what the machine does not have.
TEST_F(Damage, IsABombInABundle) {
  Bytes zip = *MakeZip(std::vector<ZipMember>{{"a.rcr", Bytes(200u << 20)}}, 0);
  zip::DirectoryEnd end;
  std::memcpy(&end, &zip[zip.size() - sizeof end], sizeof end);
  const uint32_t size = 1000;
  std::memcpy(&zip[end.offset + offsetof(zip::DirectoryLine, about) + offsetof(zip::About, size)], &size, sizeof size);
  WriteBytes(path_, zip);
  const MemoryLimit limit(16u << 20);
  const Result<Report> report = ReadReport(path_);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("damaged zip file: a member cannot be unpacked"));
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
    EXPECT_FALSE(DecodeMetadata(std::span(good).first(size), format::kVersion, &report)) << size;
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
  ExpectMetadataDamaged(encoded([](Report& r) { r.logs[0].kind = static_cast<LogKind>(3); }), "a log of unknown kind");
  ExpectMetadataDamaged(encoded([](Report& r) { r.logs[1].size = 2; }), "the end of a log is longer");
  ExpectMetadataDamaged(encoded([](Report& r) { r.files[0].input = 5; }), "an open file is an input");
  ExpectMetadataDamaged(encoded([](Report& r) { r.files[0].input = -2; }), "an open file is an input");
  ExpectMetadataDamaged(encoded([](Report& r) { r.signature.pop_back(); }), "a signature that");
  ExpectMetadataDamaged(encoded([](Report& r) { r.signature.back() = '\n'; }), "a signature that");
  ExpectMetadataDamaged(encoded([](Report& r) { r.code.kept[0].address = {UINT64_MAX}; }), "code beyond the");
  ExpectMetadataDamaged(encoded([](Report& r) { r.code.kept[0].bytes.resize(kMostKeptCode); }), "more code than");
  ExpectMetadataDamaged(encoded([](Report& r) { r.code.flipped.resize(65); }), "more flipped bytes than");
  ExpectMetadataDamaged(encoded([](Report& r) { r.code.flipped[1].address = {0x401010}; }), "flipped bytes that do");
  ExpectMetadataDamaged(encoded([](Report& r) { r.code.flipped[1].in_memory = 0x81; }), "a flipped byte of which");
  ExpectMetadataDamaged(encoded([](Report& r) { r.code.flipped[1].in_memory = 0; }), "a flipped byte of which");
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
  ExpectMemoryDamaged(Packed(format::kFreeLength + 512, {1}), "1 bytes that would unpack to 268435968");
  ExpectMemoryDamaged({2, {1}, 2, Compression::kNone}, "1 bytes stored of 2");
  ExpectMemoryDamaged({2, {1}, 1, static_cast<Compression>(3)}, "compression 3");
  // A byte of packed words stands for eight.
  ExpectMemoryDamaged(Words(format::kFreeLength / 8 + 64, {1}), "1 bytes that would unpack to 33554496");
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

// Two mebibytes that unpack to four gibibytes of zero words: refused before a byte of that is there.
TEST_F(HostileMemory, OfTwoMebibytesThatUnpacksToFourGibibytes) {
  const uint64_t length = (uint64_t{4} << 30) - (1 << 20);
  Bytes chunk = Runs({{0x10000, length}}, 0);
  const uint64_t packed_length = chunk.size() + length / 8;  // the class of each word is zero
  chunk.resize(format::kMaxChunk);
  Bytes stored;
  for (uint64_t left = packed_length; left > 0; left -= chunk.size()) {
    chunk.resize(std::min<uint64_t>(left, format::kMaxChunk));
    const Bytes packed = stored.size() < (2u << 20) ? chunk : Zstd(chunk);
    Put(&stored, format::Chunk{uint32_t(packed.size()), uint32_t(chunk.size())});
    stored.insert(stored.end(), packed.begin(), packed.end());
    chunk.assign(chunk.size(), 0);
  }
  const Bytes file = Container({Plain(SectionKind::kMetadata, Metadata()), Words(packed_length, std::move(stored))});
  EXPECT_LT(file.size(), 2200u << 10);
  const MemoryLimit limit(64u << 20);
  ExpectDamaged(file, "bytes that would unpack to 536739864");
}

// Memory and pages share one limit.
TEST_F(HostileMemory, ThatIsTooMuchOnlyWithTheImage) {
  TestReport report = FullReport();
  report.memory = {{{0x10000}, Bytes(3u << 20, 1)}};
  report.replay.images.resize(1);
  report.replay.images[0].read_only = {{report.replay.images[0].base, Bytes(2u << 20, 1)}};
  report.snapshots.reset();
  report.replay.entry_states.clear();
  ASSERT_TRUE(WriteReport(report, path_));
  EXPECT_TRUE(ReadTestReport(path_, {.memory = 5u << 20}));
  const Result<TestReport> refused = ReadTestReport(path_, {.memory = 4u << 20});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("image: runs of 2097152 bytes, at most 1048576"));
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

}  // namespace
}  // namespace recrash
