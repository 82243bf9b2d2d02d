#include "agent/elf/elf_notes.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "agent/base/testing_files.h"
#include "agent/elf/testing_small_elf.h"
#include "shadowstack/abi.h"

namespace recrash {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

thread_local volatile char g_thread_local[64] = {1};  // so that this test has some

Result<ElfFacts> Parse(const SmallElf& elf) { return ParseElfHead(elf.bytes(), "small"); }

const std::string kBuildId = Note(std::string("GNU", 4), NT_GNU_BUILD_ID, std::string("\x3f\x2a\x00\xff", 4));

TEST(ElfNotes, GiveBuildIdAndWhatTheBuildSaysOfItself) {
  // A program of objects of two modes, and a note of somebody else's between them.
  Result<ElfFacts> facts = Parse(SmallElf(BuildText("mode=full;version=1.2;rc=3") + Note("Go", 4, "abc") + kBuildId +
                                          BuildText(std::string("mode=references;version=\0", 25))));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->build_id, "3f2a00ff");
  ASSERT_THAT(facts->notes, SizeIs(2));
  EXPECT_EQ(facts->notes[0].mode, "full");
  EXPECT_EQ(facts->notes[0].version, "1.2;rc=3");
  EXPECT_EQ(facts->notes[1].mode, "references");
  EXPECT_EQ(facts->notes[1].version, "");
  ASSERT_THAT(facts->loads, SizeIs(1));
  EXPECT_EQ(facts->loads[0].memory_size, 0x200u);
  EXPECT_TRUE(facts->loads[0].executable);
}

TEST(ElfNotes, TakeNotesOfTheirOwnerOnly) {
  Result<ElfFacts> facts = Parse(SmallElf(Note("recrash", abi::kNoteBuild, "mode=a;version=b") +  // no NUL
                                          BuildText("version=1") + Note("GNU", NT_GNU_BUILD_ID, "abcd")));
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->notes, IsEmpty());
  EXPECT_EQ(facts->build_id, "");
}

TEST(ElfNotes, ReadThisVeryProgram) {
  Result<ElfFacts> facts = ReadElf("/proc/self/exe");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_GE(facts->loads.size(), 2u);
  EXPECT_EQ(std::ranges::count_if(facts->loads, &ElfLoad::executable), 1);
  EXPECT_GE(std::ranges::count_if(facts->loads, &ElfLoad::writable), 1);
  EXPECT_THAT(facts->interpreter, HasSubstr("/ld-linux-x86-64.so.2"));
  EXPECT_TRUE(facts->is_movable);
  EXPECT_EQ(g_thread_local[0], 1);
  EXPECT_GE(facts->tls_size, sizeof g_thread_local);
  EXPECT_NE(facts->frame_table_size, 0u);
  // Debian's libc has a build-id.
  Result<std::string> id = ReadBuildId("/lib/x86_64-linux-gnu/libc.so.6");
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_THAT(*id, SizeIs(40));
}

TEST(ElfNotes, SayWhyAFileIsNone) {
  TemporaryDirectory directory;
  WriteBytes(directory / "text", {'#', '!', '/', 'b', 'i', 'n'});
  Result<ElfFacts> text = ReadElf(directory / "text");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Errc::kDamaged);
  EXPECT_THAT(text.error().message, HasSubstr("text: not an ELF file that can be loaded: shorter than an ELF header"));
  EXPECT_EQ(ReadElf(directory / "none").error().code, Errc::kMissing);
  EXPECT_EQ(ReadElf("/dev/zero").error().code, Errc::kDamaged);
  EXPECT_EQ(ReadElf(directory.path()).error().code, Errc::kDamaged);
}

TEST(ElfNotes, RefuseWhatCannotBeLoaded) {
  const auto changed = [](auto change) {
    SmallElf elf;
    change(elf);
    return Parse(elf);
  };
  EXPECT_TRUE(changed([](SmallElf&) {}));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.header.e_ident[EI_CLASS] = ELFCLASS32; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.header.e_type = ET_CORE; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.header.e_machine = EM_AARCH64; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.header.e_phentsize = 8; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.header.e_phnum = PN_XNUM; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.header.e_phnum = 60000; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.header.e_phoff = UINT64_MAX - 8; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.load.p_type = PT_NULL; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.load.p_memsz = UINT64_MAX; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.load.p_vaddr = UINT64_MAX - 4; }));
  EXPECT_FALSE(changed([](SmallElf& elf) { elf.note = elf.load; }));  // the same segment twice
}

// A note that promises more than there is ends the search; what came before it stands.
TEST(ElfNotes, StopAtANoteThatIsTooLong) {
  for (const Elf64_Nhdr huge : {Elf64_Nhdr{UINT32_MAX, 0, 1}, Elf64_Nhdr{0, UINT32_MAX, 1}}) {
    Result<ElfFacts> facts = Parse(SmallElf(kBuildId + std::string(reinterpret_cast<const char*>(&huge), sizeof huge) +
                                            BuildText("mode=a;version=b")));
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->build_id, "3f2a00ff");
    EXPECT_THAT(facts->notes, IsEmpty());
  }
  SmallElf far(kBuildId);
  far.note.p_offset = UINT64_MAX - 2;
  EXPECT_EQ(Parse(far)->build_id, "");
  far.note.p_filesz = UINT64_MAX;
  EXPECT_EQ(Parse(far)->build_id, "");
}

TEST(ElfNotes, SurviveAnyFile) {
  const std::vector<uint8_t> good = SmallElf(kBuildId + BuildText("mode=full;version=1")).bytes();
  std::mt19937 random(1);
  size_t parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes = good;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) bytes[random() % bytes.size()] = random();
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    Result<ElfFacts> facts = ParseElfHead(bytes, "mutant");
    if (facts) ++parsed;
  }
  EXPECT_GT(parsed, 1000u);
  EXPECT_LT(parsed, 19000u);
}

}  // namespace
}  // namespace recrash
