// A report comes from elsewhere: whatever its registers, modules and memory say, reading it ends, and ends soon.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "agent/base/testing_files.h"
#include "shadowstack/abi.h"
#include "testgen/symbols/files/elf_file.h"
#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
#include <string>
#include <vector>
struct Node { Node* next; std::string name; std::vector<Node> children; virtual ~Node() {} };
__attribute__((noinline)) int Walk(Node* node, std::string by_value, double weight, int depth) {
  if (depth == 0) return *(volatile int*)node->next + weight + by_value.size();
  return Walk(node, by_value + "x", weight * 2, depth - 1) + 1;
}
int main(int argc, char**) {
  Node node;
  node.next = nullptr;
  node.name = "root";
  return Walk(&node, "a", 1.5, argc + 3) + 1;
}
)";

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  // Addresses near to real ones find more than any numbers do.
  uint64_t Number(const Report& report) {
    switch (random_() % 4) {
      case 0:
        return 0;
      case 1:
        return ~uint64_t{0} - random_() % 64;
      case 2:
        return report.modules[random_() % report.modules.size()].base.value + random_() % 0x4000;
      default:
        return report.threads[0].registers.sp() + random_() % 512;
    }
  }

  void Damage(Report& report) {
    switch (random_() % 5) {
      case 0:
        report.threads[0].registers.dwarf[random_() % 17] = Number(report);
        break;
      case 1: {
        Module& module = report.modules[random_() % report.modules.size()];
        uint64_t* fields[] = {&module.base.value, &module.size, &module.bias};
        *fields[random_() % 3] = Number(report);
        break;
      }
      case 2: {
        Region& region = report.memory[random_() % report.memory.size()];
        for (int i = 0; i < 64; ++i) region.bytes[random_() % region.bytes.size()] = static_cast<uint8_t>(random_());
        break;
      }
      case 3: {  // the stack, word by word
        const uint64_t sp = report.threads[0].registers.sp();
        for (Region& region : report.memory)
          for (int i = 0; i < 8; ++i) {
            const uint64_t at = sp - region.address.value + random_() % 128 * 8;
            const uint64_t value = Number(report);
            if (region.bytes.size() > 8 && at < region.bytes.size() - 8)
              std::copy_n(reinterpret_cast<const uint8_t*>(&value), 8,
                          region.bytes.begin() + static_cast<ptrdiff_t>(at));
          }
        break;
      }
      default:
        report.memory.erase(report.memory.begin() + static_cast<ptrdiff_t>(random_() % report.memory.size()));
        if (report.memory.empty()) report.memory.push_back({{4096}, std::vector<uint8_t>(16)});
    }
  }

 private:
  std::mt19937 random_;
};

class Hostile : public testing::TestWithParam<const char*> {};

TEST_P(Hostile, ReportsEndInFramesOrAnError) {
  const Fixture fixture(kProgram, std::string(GetParam()).empty() ? "-O2 -g" : Monitored(GetParam(), "full"));
  const Report report = fixture.Crash();
  size_t frames = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Report damaged = report;
    Mutator mutator(seed);
    for (uint32_t i = 0; i <= seed % 4; ++i) mutator.Damage(damaged);
    const Result<Symbols> symbols = Symbols::Open(damaged, {});
    if (!symbols) continue;
    const auto backtrace = ReadBacktrace(damaged, *symbols);
    if (!backtrace) continue;
    frames += backtrace->frames.size();
    for (const Frame& frame : backtrace->frames)
      for (const Parameter& parameter : frame.parameters)
        for (const char c : parameter.rendered) ASSERT_FALSE(c >= 0 && c < 0x20) << parameter.rendered;
    MakeReplayData(*backtrace, *symbols);
  }
  EXPECT_GT(frames, 60u);  // most damage leaves something to show
}

INSTANTIATE_TEST_SUITE_P(Builds, Hostile, testing::Values("-O2 -g", "-O0 -g", ""));

// An argument that is passed by its address has eight bytes of it in the record. A damaged map says that it has four.
TEST(HostileMap, GivesNoAddressOfFourBytes) {
  const Fixture fixture(R"(
struct Small { short id; ~Small() {} };
__attribute__((noinline)) int Read(Small small, int* target) { return *target + small.id; }
int main() { return Read(Small{7}, nullptr) + 1; }
)",
                        Monitored("-O0 -g"));
  const auto file = ElfFile::Open(fixture.path());
  ASSERT_TRUE(file && (*file)->FindSection(abi::kMapSection));
  const std::span<const uint8_t> section = (*file)->FindSection(abi::kMapSection)->bytes;
  std::vector<uint8_t> map(section.begin(), section.end());
  int changed = 0;
  for (size_t at = 0; at + abi::kMapEntrySize <= map.size();) {
    abi::MapEntry entry{};
    std::memcpy(&entry, &map[at], abi::kMapEntrySize);
    auto* words = reinterpret_cast<abi::MapWord*>(&map[at + abi::kMapEntrySize]);
    for (int i = 0; i < entry.word_count; ++i) {
      if ((words[i].flags & abi::kIndirect) == 0) continue;
      words[i].size = 4;
      ++changed;
    }
    at += std::max<size_t>(entry.size, 4);
  }
  ASSERT_GT(changed, 0);
  WriteBytes(fixture.path("map"), map);
  fixture.Run(std::string("objcopy --update-section ") + abi::kMapSection + "=map program");
  const Backtrace backtrace = MustRead(fixture.Crash());
  EXPECT_FALSE(ParameterOf(FrameOf(backtrace, "Read("), "small").complete);
}

}  // namespace
}  // namespace recrash
