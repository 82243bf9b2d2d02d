// What is found without /proc is what /proc says.
#include "agent/client/address_space/address_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/pages.h"

namespace recrash::client {
namespace {

using signal_safe::kPage;
using testing::ElementsAre;
using testing::IsEmpty;

AddressSpace g_space;

char* Map(uint64_t size, int rights, void* at = nullptr) {
  const int fixed = at != nullptr ? MAP_FIXED_NOREPLACE : 0;
  return static_cast<char*>(mmap(at, size, rights, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0));
}

void Find(uint64_t milliseconds = 10000) {
  const LoadedAt loaded = {&_r_debug, getauxval(AT_PHDR), getauxval(AT_PHNUM), getauxval(AT_SYSINFO_EHDR)};
  g_space.Begin(loaded, getauxval(AT_RANDOM), signal_safe::Nanoseconds(CLOCK_MONOTONIC) + milliseconds * 1000000);
  g_space.Use(reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
  g_space.Find();
}

const Mapped* FoundAt(uint64_t address) {
  for (uint32_t i = 0; i < g_space.count(); ++i)
    if (g_space.at(i).start <= address && address < g_space.at(i).end) return &g_space.at(i);
  return nullptr;
}

std::string RightsOf(const Mapped* mapped) {
  if (mapped == nullptr) return "not found";
  return std::string(mapped->readable ? "r" : "-") + (mapped->writable ? "w" : "-") + (mapped->executable ? "x" : "-");
}

struct Line {
  uint64_t start, end;
  std::string rights, name, text;
};

// But for what the kernel has for itself: nobody can read it in another way.
std::vector<Line> Lines() {
  std::vector<Line> lines;
  std::ifstream maps("/proc/self/maps");
  for (std::string text; std::getline(maps, text);) {
    Line line;
    char dash;
    std::string offset, device, inode;
    std::istringstream words(text);
    words >> std::hex >> line.start >> dash >> line.end >> line.rights >> offset >> device >> inode >> line.name;
    line.rights.resize(3);
    line.text = text;
    if (line.name != "[vsyscall]" && line.name.rfind("[vvar", 0) != 0) lines.push_back(line);
  }
  return lines;
}

// Pages of /proc's mappings that were found otherwise.
std::vector<std::string> Differences(const std::vector<Line>& lines) {
  std::vector<std::string> differences;
  for (const Line& line : lines) {
    for (uint64_t page = line.start; page < line.end; page += kPage) {
      const std::string rights = RightsOf(FoundAt(page));
      if (rights != line.rights) {
        std::ostringstream text;
        text << line.text << ": at " << std::hex << page << " " << rights;
        differences.push_back(text.str());
        break;
      }
    }
  }
  return differences;
}

TEST(AddressSpace, IsAsProcSays) {
  char* const pages = Map(40 * kPage, PROT_READ | PROT_WRITE);
  std::fill_n(pages, 40 * kPage, 'x');
  mprotect(pages + 3 * kPage, kPage, PROT_READ);
  mprotect(pages + 5 * kPage, 2 * kPage, PROT_NONE);
  char* const untouched = Map(40 * kPage, PROT_READ | PROT_WRITE);
  // Far from everything: only a word leads there.
  char* const far = Map(kPage, PROT_READ | PROT_WRITE, reinterpret_cast<void*>(0x123456789000));
  ASSERT_NE(far, MAP_FAILED);
  char** const word = new char*(far);
  volatile bool done = false;
  std::thread other([&] {
    while (!done) std::this_thread::yield();
  });
  const std::vector<Line> lines = Lines();
  Find();
  done = true;
  other.join();
  EXPECT_THAT(Differences(lines), IsEmpty());
  EXPECT_EQ(FoundAt(reinterpret_cast<uint64_t>(untouched))->writable, true);
  EXPECT_FALSE(g_space.is_cut());
  ASSERT_NE(FoundAt(reinterpret_cast<uint64_t>(far)), nullptr);
  EXPECT_EQ(far[0], 0) << "nothing is written but what was there";
  EXPECT_EQ(pages[7 * kPage + 5], 'x');
  for (auto [at, size] : {std::pair(pages, 40 * kPage), {untouched, 40 * kPage}, {far, kPage}}) munmap(at, size);
  delete word;
}

TEST(AddressSpace, NamesWhatItKnows) {
  Find();
  std::map<std::string, MappedKind> kinds;
  for (const Line& line : Lines())
    if (const Mapped* found = FoundAt(line.start)) kinds.emplace(line.name, found->kind);
  EXPECT_EQ(kinds["[stack]"], MappedKind::kStack);
  EXPECT_EQ(kinds["[heap]"], MappedKind::kHeap);
  EXPECT_EQ(kinds["[vdso]"], MappedKind::kVdso);
  std::ifstream maps("/proc/self/maps");
  const Mapped* own = FoundAt(reinterpret_cast<uint64_t>(Find));
  EXPECT_EQ(own->kind, MappedKind::kProgram);
  EXPECT_TRUE(own->executable);
  EXPECT_STREQ(strrchr(FoundAt(reinterpret_cast<uint64_t>(strlen))->name, '/'), "/libc.so.6");
}

// Beside each other they are one mapping to whoever asks the kernel of pages.
TEST(AddressSpace, KeepsTheClientsOwnApart) {
  char* const pages = Map(12 * kPage, PROT_READ | PROT_WRITE);
  const auto start = reinterpret_cast<uint64_t>(pages);
  const LoadedAt loaded = {};
  g_space.Begin(loaded, start, signal_safe::Nanoseconds(CLOCK_MONOTONIC) + 10000000000);
  g_space.SetApart(start + 4 * kPage, 2 * kPage - 100, true);
  g_space.Find();
  const Mapped* const own = FoundAt(start + 4 * kPage);
  ASSERT_NE(own, nullptr);
  EXPECT_THAT((std::vector{own->start - start, own->end - start}), ElementsAre(4 * kPage, 6 * kPage));
  EXPECT_TRUE(AsMap(*own).not_dumped);
  EXPECT_FALSE(AsMap(*FoundAt(start + 6 * kPage)).not_dumped);
  EXPECT_FALSE(AsMap(*FoundAt(start)).not_dumped);
  munmap(pages, 12 * kPage);
}

// As language runtimes reserve them.
TEST(AddressSpace, IsFoundBesideLargeReservations) {
  constexpr uint64_t kSize = uint64_t{64} << 30;
  auto* const reserved =
      static_cast<char*>(mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(reserved, MAP_FAILED);
  mprotect(reserved + kSize / 2, kPage, PROT_READ | PROT_WRITE);
  reserved[kSize / 2] = 1;
  const auto place = reinterpret_cast<uint64_t>(reserved);
  Find(60000);
  EXPECT_FALSE(g_space.is_cut());
  EXPECT_EQ(RightsOf(FoundAt(place + kSize / 4)), "---");
  EXPECT_EQ(RightsOf(FoundAt(place + kSize / 2)), "rw-");
  EXPECT_EQ(RightsOf(FoundAt(place + kSize / 2 + kPage)), "---");
  munmap(reserved, kSize);
}

TEST(AddressSpace, SaysThatTheTimeWasOver) {
  Find(0);
  EXPECT_TRUE(g_space.is_cut());
}

}  // namespace
}  // namespace recrash::client
