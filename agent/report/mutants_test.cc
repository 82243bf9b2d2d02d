// Reports changed at random, below right checksums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <random>

#include "agent/report/archive.h"
#include "agent/report/testing_damaged_report.h"
#include "agent/report/testing_memory_limit.h"

namespace recrash {
namespace {

using format::Compression;
using format::Section;
using format::SectionKind;

// What comes back from a mutant is used as a reader would use it.
void Use(const TestReport& report) {
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
      Result<TestReport> report = Read(Container(mutants));
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
  TestReport full = FullReport();
  for (Region& region : full.memory) region.bytes.resize(100);
  Bytes inputs;
  for (const Input& input : full.inputs) inputs.insert(inputs.end(), input.bytes.begin(), input.bytes.end());
  std::vector<Region> image;
  for (const ModuleImage& module : full.replay.images)
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
  for (const EntryState& state : full.replay.entry_states) {
    const Bytes pages = runs(state.memory.own());
    states.insert(states.end(), pages.begin(), pages.end());
  }
  Bytes snapshots;
  for (const EntryState& state : full.snapshots->states) {
    const Bytes pages = runs(state.memory.own());
    snapshots.insert(snapshots.end(), pages.begin(), pages.end());
  }
  Mutate({Plain(SectionKind::kMetadata, *EncodeMetadata(full)), Plain(SectionKind::kMemory, runs(full.memory)),
          Plain(SectionKind::kReplay, *EncodeReplay(full.replay), format::kOptional),
          Plain(SectionKind::kImage, runs(image), format::kOptional),
          Plain(SectionKind::kEntryStates, states, format::kOptional),
          Plain(SectionKind::kSnapshots, *EncodeSnapshots(*full.snapshots), format::kOptional),
          Plain(SectionKind::kSnapshotPages, snapshots, format::kOptional),
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
  ASSERT_EQ(parts.size(), 8u);
  Mutate(parts, 6000);
}

}  // namespace
}  // namespace recrash
