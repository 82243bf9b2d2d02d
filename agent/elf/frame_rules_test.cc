// Against the unwinder of the compiler's own runtime, in this very process.
#include "agent/elf/frame_rules.h"

#include <alloca.h>
#include <execinfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

using testing::ElementsAreArray;

constexpr int kRip = 16;

struct LoadedFile {
  std::string path;
  uint64_t bias = 0;
};

LoadedFile FileAt(uint64_t address) {
  struct Search {
    uint64_t address;
    LoadedFile found;
  } search{address, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || wanted->address - info->dlpi_addr - segment.p_vaddr >= segment.p_memsz)
            continue;
          wanted->found = {info->dlpi_name[0] != 0 ? info->dlpi_name : "/proc/self/exe", info->dlpi_addr};
        }
        return 0;
      },
      &search);
  return search.found;
}

FrameRegisters RegistersOf(const ucontext_t& context) {
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  FrameRegisters registers;
  for (size_t i = 0; i < registers.size(); ++i)
    registers[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[i]]);
  return registers;
}

std::optional<uint64_t> ReadOwnWord(uint64_t address) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

// The pcs of all callers.
std::vector<uint64_t> Walk(FrameRegisters registers) {
  static std::map<std::string, Result<ElfImage>> images;
  std::vector<uint64_t> pcs;
  bool exact = true;
  for (;;) {
    const LoadedFile file = FileAt(registers[kRip]);
    const auto [image, is_new] = images.try_emplace(file.path, ElfImage::Open(file.path));
    if (!image->second) break;
    const auto rules = ReadFrameRules(*image->second, registers[kRip] - file.bias - (exact ? 0 : 1));
    if (!rules || !rules->Unwind(ReadOwnWord, &registers)) break;
    exact = rules->is_signal_frame;
    pcs.push_back(registers[kRip]);
  }
  return pcs;
}

__attribute__((noinline)) void WalkFromHere(size_t* count) {
  ucontext_t context;
  getcontext(&context);
  void* expected[64];
  const int found = backtrace(expected, 64);
  std::vector<uint64_t> callers;
  for (int i = 1; i < found; ++i) callers.push_back(reinterpret_cast<uint64_t>(expected[i]));
  EXPECT_THAT(Walk(RegistersOf(context)), ElementsAreArray(callers));
  *count = callers.size();
}

TEST(FrameRules, LeadToTheSameCallersAsTheRuntime) {
  size_t count = 0;
  WalkFromHere(&count);
  EXPECT_GE(count, 5u);
}

// Frames that are realigned have another kind of CFA.
__attribute__((noinline)) void WalkFromRealigned(size_t* count) {
  alignas(64) volatile char aligned[64] = {};
  auto* sized = static_cast<volatile char*>(alloca(7 * (*count + 1)));
  sized[0] = aligned[1];
  WalkFromHere(count);
  aligned[2] = sized[0];
}

TEST(FrameRules, LeadOutOfRealignedFrames) {
  size_t count = 0;
  WalkFromRealigned(&count);
  EXPECT_GE(count, 6u);
}

size_t g_count;

TEST(FrameRules, LeadOutOfSignalHandlers) {
  struct sigaction action = {}, before;
  action.sa_handler = [](int) { WalkFromHere(&g_count); };
  sigaction(SIGUSR1, &action, &before);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GE(g_count, 8u);
}

TEST(FrameRules, EndAtTheOutermostFrame) {
  const Result<ElfImage> image = ElfImage::Open("/proc/self/exe");
  ASSERT_TRUE(image);
  const uint64_t address = getauxval(AT_ENTRY);
  const auto rules = ReadFrameRules(*image, address + 4 - FileAt(address).bias);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->is_outermost());
}

// Bounded by the file, whatever stands in it.
TEST(FrameRules, OfDamagedFilesAreHarmless) {
  const std::vector<uint8_t> whole = ReadBytes(RECRASH_TEST_SMALL_PROGRAM);
  const Result<ElfImage> image = ElfImage::Open(RECRASH_TEST_SMALL_PROGRAM);
  ASSERT_TRUE(image);
  const ElfSection* section = image->FindSection(".eh_frame");
  const auto text = std::ranges::find_if(image->facts().loads, &ElfLoad::executable);
  ASSERT_TRUE(section && text != image->facts().loads.end());
  const auto* first = image->Bytes(image->facts().loads[0].vaddr, 1).data() - image->facts().loads[0].offset;
  const auto begin = static_cast<size_t>(section->bytes.data() - first);
  const TemporaryDirectory folder;
  std::mt19937 random(7);
  size_t understood = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (int j = 0; j < 4; ++j) bytes[begin + random() % section->bytes.size()] = static_cast<uint8_t>(random());
    WriteBytes(folder / "damaged", bytes);
    const Result<ElfImage> damaged = ElfImage::Open(folder / "damaged");
    ASSERT_TRUE(damaged);
    for (uint64_t at = text->vaddr; at < text->vaddr + text->file_size; at += 5) {
      FrameRegisters registers{};
      const auto rules = ReadFrameRules(*damaged, at);
      understood += rules && rules->Unwind([](uint64_t address) { return std::optional(address); }, &registers);
    }
  }
  EXPECT_GT(understood, 100u);
}

}  // namespace
}  // namespace recrash
