#include "agent/report/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/report/maps.h"
#include "agent/report/testing_reports.h"

namespace recrash {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::string SelfMaps() {
  std::ifstream in("/proc/self/maps");
  return {std::istreambuf_iterator<char>(in), {}};
}

const Result<ElfFacts> kNoFile = Error{Errc::kMissing, "gone"};
Result<ElfFacts> NoFiles(const Mapping&) { return kNoFile; }

// The dynamic loader knows: each object that it has loaded is found, at the same place with the same extent and bias.
TEST(Modules, AgreeWithTheLoader) {
  const std::vector<Mapping> mappings = ParseMaps(SelfMaps());
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::vector<Module> modules = ModulesFromMappings(mappings, self);
  struct Expected {
    const std::vector<Module>* modules;
    size_t seen = 0;
  } expected{&modules};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* expected = static_cast<Expected*>(data);
        uint64_t first = UINT64_MAX, last = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          first = std::min<uint64_t>(first, segment.p_vaddr & ~uint64_t{4095});
          last = std::max<uint64_t>(last, (segment.p_vaddr + segment.p_memsz + 4095) & ~uint64_t{4095});
        }
        const TargetAddress base{info->dlpi_addr + first};
        auto module = std::ranges::find(*expected->modules, base, &Module::base);
        if (module == expected->modules->end()) {
          ADD_FAILURE() << info->dlpi_name << " not found";
          return 0;
        }
        // The vdso's file is not on disk, so that its extent is its mapping's.
        if (module->path != "[vdso]") EXPECT_EQ(module->size, last - first) << info->dlpi_name;
        EXPECT_EQ(module->bias, info->dlpi_addr) << info->dlpi_name;
        EXPECT_EQ(module->is_program, expected->seen == 0) << info->dlpi_name;
        ++expected->seen;
        return 0;
      },
      &expected);
  EXPECT_GE(expected.seen, 3u);
  EXPECT_THAT(modules, SizeIs(expected.seen));
}

// The same process without its files: extents from the mappings alone, since a report may be read elsewhere.
TEST(Modules, AreToldFromMappingsAlone) {
  const std::vector<Mapping> mappings = ParseMaps(SelfMaps());
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::vector<Module> with = ModulesFromMappings(mappings, self);
  const std::vector<Module> without = ModulesFromMappings(mappings, self, NoFiles);
  ASSERT_EQ(with.size(), without.size());
  for (size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(without[i].path, with[i].path);
    EXPECT_EQ(without[i].base, with[i].base) << with[i].path;
    EXPECT_EQ(without[i].bias, with[i].bias) << with[i].path;
    EXPECT_GE(without[i].size, with[i].size) << with[i].path;  // an anonymous mapping may have merged with .bss
    EXPECT_EQ(without[i].build_id, "");
  }
}

// A linker reads libraries as data; nothing of them is executed there.
TEST(Modules, LeaveOutFilesMappedAsData) {
  const std::vector<Mapping> mappings =
      ParseMaps("7f0000000000-7f00001d0000 r--p 00000000 fe:01 1234    /lib/libc.so\n");
  EXPECT_THAT(ModulesFromMappings(mappings, "/bin/x", NoFiles), IsEmpty());
  ElfFacts library;
  library.loads = {{0, 0, 0x26000, 0x26000, false}, {0x26000, 0x26000, 0x100000, 0x100000, true}};
  EXPECT_THAT(ModulesFromMappings(mappings, "/bin/x", [&](const Mapping&) { return library; }), IsEmpty());
}

// A program that is not PIE has a base but no bias, with and without its file.
TEST(Modules, GiveAFixedProgramNoBias) {
  const std::vector<Mapping> mappings = ParseMaps(
      "00400000-00401000 r--p 00000000 fe:01 1234    /bin/x\n"
      "00401000-00402000 r-xp 00001000 fe:01 1234    /bin/x\n"
      "00402000-00403000 rw-p 00002000 fe:01 1234    /bin/x\n"
      "00403000-00405000 rw-p 00000000 00:00 0 \n"
      "00405000-00426000 rw-p 00000000 00:00 0       [heap]\n");
  ElfFacts facts;
  facts.build_id = "3f2a";
  facts.loads = {
      {0, 0x400000, 0x800, 0x800, false}, {0x1000, 0x401000, 0x10, 0x10, true}, {0x2000, 0x402000, 8, 0x2100, false}};
  for (const ElfLookup& lookup : {ElfLookup([&](const Mapping&) { return facts; }), ElfLookup(NoFiles)}) {
    const std::vector<Module> modules = ModulesFromMappings(mappings, "/bin/x", lookup);
    ASSERT_THAT(modules, SizeIs(1));
    EXPECT_EQ(modules[0].base.value, 0x400000u);
    EXPECT_EQ(modules[0].size, 0x5000u);
    EXPECT_EQ(modules[0].bias, 0u);
    EXPECT_TRUE(modules[0].is_program);
  }
}

// Rebuilt while it ran: the file of that name is another one now, and its build-id would be a lie.
TEST(Modules, DoNotAskTheFileThatTookADeletedOnesName) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<Mapping> mappings = ParseMaps(SelfMaps());
  for (Mapping& mapping : mappings)
    if (mapping.path == self) mapping.path += " (deleted)";
  const std::vector<Module> modules = ModulesFromMappings(mappings, self + " (deleted)");
  auto program = std::ranges::find_if(modules, &Module::is_program);
  ASSERT_NE(program, modules.end());
  EXPECT_EQ(program->path, self);
  EXPECT_EQ(program->build_id, "");
}

TEST(Modules, LeaveOutExecutableMemoryThatIsNoFile) {
  const std::vector<Mapping> mappings = ParseMaps(
      "7f0000000000-7f0000010000 rwxp 00000000 00:01 1234    /memfd:jit (deleted)\n"
      "7f0000010000-7f0000020000 rwxs 00000000 00:01 1235    /dev/zero (deleted)\n"
      "7f0000020000-7f0000030000 rwxp 00000000 00:00 0 \n");
  EXPECT_THAT(ModulesFromMappings(mappings, "/bin/x"), IsEmpty());
}

TEST(Maps, AreReadFieldByField) {
  const std::vector<Mapping> mappings = ParseMaps(
      "7f0000001000-7f0000003000 rw-s 00002000 fe:01 1234                       /tmp/a b\\012c (deleted)\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
  ASSERT_THAT(mappings, SizeIs(2));
  EXPECT_EQ(mappings[0].start.value, 0x7f0000001000u);
  EXPECT_EQ(mappings[0].end.value, 0x7f0000003000u);
  EXPECT_EQ(mappings[0].flags, kMapRead | kMapWrite | kMapShared);
  EXPECT_EQ(mappings[0].file_offset, 0x2000u);
  EXPECT_EQ(mappings[0].path, "/tmp/a b\nc (deleted)");
  EXPECT_EQ(mappings[1].flags, kMapExecute);
  EXPECT_EQ(mappings[1].path, "[vsyscall]");
}

TEST(Maps, LeaveOutWhatIsNoMapping) {
  EXPECT_THAT(ParseMaps(""), IsEmpty());
  for (const char* line : {"\n", "1000\n", "1000-\n", "1000-2000\n", "1000-2000 rw-p\n", "2000-1000 rw-p 0 0:0 0 \n",
                           "1000-2000 rw 0 0:0 0 \n", "1000-2000 rw-p x 0:0 0 \n", "1000-2000 rw-p 0 0 0 \n",
                           "11111111111111111-22222222222222222 rw-p 0 0:0 0 \n", "1000-2000 rw-p 0 0:0"})
    EXPECT_THAT(ParseMaps(line), IsEmpty()) << line;
  // The text was cut inside of a path.
  EXPECT_THAT(ParseMaps("1000-2000 rw-p 0 0:0 0 /a\n2000-3000 rw-p 0 0:0 0 /lib/lib"), SizeIs(1));
}

}  // namespace
}  // namespace recrash
