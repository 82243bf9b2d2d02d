#include "agent/elf/elf_image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "agent/base/testing_files.h"

extern "C" __attribute__((used, noinline)) int RecrashElfImageTestFunction(int value) { return value * 3 + 1; }

extern "C" const char __executable_start[];  // the linker's: where address 0 of the file is

namespace recrash {
namespace {

uint64_t InFile(const void* address) {
  return reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(__executable_start);
}

// Asked about itself: this test's own file.
TEST(ElfImage, KnowsWhereFunctionsBeginAndTheirNames) {
  const Result<ElfImage> image = ElfImage::Open("/proc/self/exe");
  ASSERT_TRUE(image);
  const uint64_t start = InFile(reinterpret_cast<const void*>(&RecrashElfImageTestFunction));
  EXPECT_EQ(image->FunctionStart(start), start);
  EXPECT_EQ(image->FunctionStart(start + 2), start);
  EXPECT_NE(image->FunctionStart(start - 1), start);
  EXPECT_EQ(image->FunctionNames({start}).at(start), "RecrashElfImageTestFunction");
  EXPECT_FALSE(image->IsPatchable(start));
  EXPECT_FALSE(image->FunctionStart(0));
  EXPECT_FALSE(image->FunctionStart(UINT64_MAX));
  EXPECT_TRUE(image->IsReturnAddress(InFile(__builtin_return_address(0))));
  EXPECT_FALSE(image->IsReturnAddress(start + 1));
}

struct Changed {
  explicit Changed(const std::function<void(Elf64_Ehdr&, std::vector<uint8_t>&)>& change)
      : bytes(ReadBytes(RECRASH_TEST_SMALL_PROGRAM)) {
    change(reinterpret_cast<Elf64_Ehdr&>(bytes[0]), bytes);
    WriteBytes(folder / "changed", bytes);
    image.emplace(ElfImage::Open(folder / "changed"));
  }
  TemporaryDirectory folder;
  std::vector<uint8_t> bytes;
  std::optional<Result<ElfImage>> image;
};

TEST(ElfImage, HasSectionsAndSymbols) {
  const Result<ElfImage> image = ElfImage::Open(RECRASH_TEST_SMALL_PROGRAM);
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->has_code());
  EXPECT_TRUE(image->has_symtab());
  ASSERT_NE(image->FindSection(".text"), nullptr);
  EXPECT_TRUE(image->FindSection(".text")->executable);
  EXPECT_EQ(image->FindSection(".bss"), nullptr);  // the file has no bytes of it
  EXPECT_EQ(image->FindSection(".tex"), nullptr);
  std::map<std::string, ElfSymbol> symbols;
  image->VisitSymbols([&](const ElfSymbol& symbol) { symbols.emplace(symbol.name, symbol); });
  ASSERT_TRUE(symbols.contains("main"));
  const ElfSymbol& main = symbols.at("main");
  EXPECT_TRUE(main.is_function);
  EXPECT_FALSE(main.is_local);
  EXPECT_EQ(main.file, "");
  EXPECT_EQ(image->FunctionStart(main.address + 1), main.address);
  EXPECT_EQ(image->Bytes(main.address, main.size).size(), main.size);
  EXPECT_TRUE(image->LoadAt(main.address)->executable);
  EXPECT_EQ(image->LoadAt(UINT64_MAX), nullptr);
  ASSERT_TRUE(symbols.contains("frame_dummy"));  // of crtstuff.c, in every program
  EXPECT_TRUE(symbols.at("frame_dummy").is_local);
  EXPECT_EQ(symbols.at("frame_dummy").file, "crtstuff.c");
}

// eu-strip leaves the program headers as they were, but not what they lead to.
TEST(ElfImage, HasTheBuildIdOfItsNoteSections) {
  const Result<std::string> build_id = ReadBuildId(RECRASH_TEST_SMALL_PROGRAM);
  ASSERT_TRUE(build_id && !build_id->empty());
  const Changed changed([](Elf64_Ehdr& header, std::vector<uint8_t>& bytes) {
    for (int i = 0; i < header.e_phnum; ++i) {
      auto& segment = reinterpret_cast<Elf64_Phdr&>(bytes[header.e_phoff + i * sizeof(Elf64_Phdr)]);
      if (segment.p_type == PT_NOTE) segment.p_offset = 0;
    }
  });
  EXPECT_EQ(*ReadBuildId(changed.folder / "changed"), "");
  ASSERT_TRUE(*changed.image);
  EXPECT_EQ((*changed.image)->facts().build_id, *build_id);
}

// With 65,280 sections and more, their number does not fit into the header.
TEST(ElfImage, FindsSectionsThatItsHeaderCannotCount) {
  const Changed changed([](Elf64_Ehdr& header, std::vector<uint8_t>& bytes) {
    auto& first = reinterpret_cast<Elf64_Shdr&>(bytes[header.e_shoff]);
    first.sh_size = std::exchange(header.e_shnum, 0);
    first.sh_link = std::exchange(header.e_shstrndx, SHN_XINDEX);
  });
  ASSERT_TRUE(*changed.image);
  EXPECT_NE((*changed.image)->FindSection(".text"), nullptr);
  EXPECT_TRUE((*changed.image)->has_symtab());
}

TEST(ElfImage, HasNoSectionsWhereTheirTableIsNone) {
  const Changed none([](Elf64_Ehdr& header, std::vector<uint8_t>&) { header.e_shoff = 0; });
  const Changed beyond([](Elf64_Ehdr& header, std::vector<uint8_t>&) { header.e_shoff = UINT64_MAX - 63; });
  const Changed other([](Elf64_Ehdr& header, std::vector<uint8_t>&) { header.e_shentsize = 1; });
  for (const Changed* changed : {&none, &beyond, &other}) {
    ASSERT_TRUE(*changed->image);
    EXPECT_FALSE((*changed->image)->has_code());
    EXPECT_FALSE((*changed->image)->has_symtab());
  }
  const Changed endless([](Elf64_Ehdr& header, std::vector<uint8_t>& bytes) {
    header.e_shnum = 0;
    reinterpret_cast<Elf64_Shdr&>(bytes[header.e_shoff]).sh_size = UINT64_MAX;
  });
  ASSERT_TRUE(*endless.image);
  EXPECT_NE((*endless.image)->FindSection(".text"), nullptr);
}

// Whatever bytes it has: no read outside of them.
TEST(ElfImage, SurvivesDamage) {
  TemporaryDirectory folder;
  std::vector<uint8_t> good = ReadBytes(RECRASH_TEST_SMALL_PROGRAM);
  std::mt19937_64 random(5);
  const uint64_t interesting[] = {0, 1, 0xff, 0xffffffff, UINT64_MAX, UINT64_MAX - 7, good.size(), good.size() - 1};
  int opened = 0;
  const int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint8_t> bad = good;
    // Headers of the file, of its segments, and of its sections, which come last.
    for (int i = 0; i < 4; ++i) {
      const size_t from_end = random() % 2048;
      const size_t at = i % 2 == 0 ? random() % 1024 : bad.size() - 8 - from_end;
      memcpy(bad.data() + at, &interesting[random() % std::size(interesting)], 1 + random() % 8);
    }
    if (round % 7 == 0) bad.resize(random() % bad.size() + 1);
    WriteBytes(folder / "bad", bad);
    const Result<ElfImage> image = ElfImage::Open(folder / "bad");
    if (!image) continue;
    ++opened;
    for (uint64_t address = 0; address < 0x2000; address += 0x111) {
      image->FunctionStart(address);
      image->IsPatchable(address);
      image->IsReturnAddress(address);
    }
    image->FunctionNames({0x1000, 0x1040, 0x1139});
    size_t name_bytes = 0;
    image->VisitSymbols([&](const ElfSymbol& symbol) {
      name_bytes += std::string(symbol.name).size() + std::string(symbol.file).size();
    });
    for (const char* name : {".text", ".symtab", ".note.gnu.build-id", ""})
      if (const ElfSection* section = image->FindSection(name))
        name_bytes += std::accumulate(section->bytes.begin(), section->bytes.end(), size_t{0});
    EXPECT_LT(name_bytes, size_t{1} << 40);  // so that all of them are read
  }
  EXPECT_GT(opened, 0);
  EXPECT_LT(opened, rounds);
}

}  // namespace
}  // namespace recrash
