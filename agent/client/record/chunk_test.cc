// Blocks of this process's own malloc, found without it.
#include "agent/client/record/chunk.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/report/maps.h"

namespace recrash::record {
namespace {

Mapping MappingOf(uint64_t address) {
  for (const Mapping& mapping : ParseMaps(ReadProcFile(getpid(), "maps")))
    if (mapping.start.value <= address && address < mapping.end.value) return mapping;
  return {};
}

Block Find(const void* pointer, uint64_t offset = 0) {
  const auto address = reinterpret_cast<uint64_t>(pointer) + offset;
  const Mapping mapping = MappingOf(address);
  return FindChunk(address, mapping.start.value, mapping.end.value);
}

void ExpectFound(size_t size) {
  void* const pointer = malloc(size);
  memset(pointer, 0x5a, size);
  const uint64_t furthest = size < 200 ? size - 1 : 200;
  for (const uint64_t offset : {uint64_t{0}, furthest / 2, furthest}) {
    const Block block = Find(pointer, offset);
    EXPECT_EQ(block.start, reinterpret_cast<uint64_t>(pointer)) << size << " at " << offset;
    EXPECT_EQ(block.size, malloc_usable_size(pointer)) << size << " at " << offset;
  }
  free(pointer);
}

TEST(FindChunk, FindsBlocksOfEverySize) {
  for (const size_t size : {1, 24, 25, 100, 1000, 30000, 100000, 1000000}) ExpectFound(size);
}

TEST(FindChunk, FindsThoseOfAThreadsArena) {
  std::thread([] { ExpectFound(48); }).join();
}

TEST(FindChunk, FindsTheOneThatAnAddressIsIn) {
  std::vector<char*> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(static_cast<char*>(malloc(32)));
  for (char* const block : blocks) EXPECT_EQ(Find(block, 20).start, reinterpret_cast<uint64_t>(block));
  for (char* const block : blocks) free(block);
}

TEST(FindChunk, FindsNoneWhereThereIsNoHeap) {
  auto* const area =
      static_cast<char*>(mmap(nullptr, 3 * kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const auto at = reinterpret_cast<uint64_t>(area);
  for (const uint8_t fill : {0, 1, 0x21, 0xff}) {
    memset(area, fill, 3 * kPageSize);
    for (const uint64_t offset : {uint64_t{0}, uint64_t{8}, uint64_t{16}, kPageSize, 3 * kPageSize - 1})
      EXPECT_EQ(FindChunk(at + offset, at, at + 3 * kPageSize).size, 0u) << offset;
  }
  mprotect(area, kPageSize, PROT_NONE);
  EXPECT_EQ(FindChunk(at + kPageSize - 1, at, at + 3 * kPageSize).size, 0u) << "unreadable";
  munmap(area, 3 * kPageSize);
  EXPECT_EQ(FindChunk(at + kPageSize, at, at + 3 * kPageSize).size, 0u) << "gone";
}

// A size that leads out of the mapping is none.
TEST(FindChunk, StaysInTheMapping) {
  auto* const area =
      static_cast<uint64_t*>(mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const auto at = reinterpret_cast<uint64_t>(area);
  const auto find = [&](uint64_t size) {
    area[1] = size | 1;
    return FindChunk(at + 16, at, at + kPageSize).size;
  };
  area[9] = 0x21;  // the head of what follows 64 bytes
  EXPECT_EQ(find(64), 56u);
  for (const uint64_t size : {kPageSize - 16, kPageSize, kPageSize + 16, uint64_t{1} << 63, ~uint64_t{31}})
    EXPECT_EQ(find(size), 0u) << size;
  munmap(area, kPageSize);
}

}  // namespace
}  // namespace recrash::record
