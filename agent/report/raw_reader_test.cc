// The raw fallback of a client that had no collector, made by hand as shadowstack/raw_format.h says.
#include "agent/report/raw_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>

#include "agent/elf/testing_small_elf.h"
#include "agent/report/crash_record.h"
#include "agent/report/reader.h"
#include "agent/report/testing_reports.h"
#include "shadowstack/raw_format.h"

namespace recrash {
namespace {

using raw::BlockKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

using Bytes = std::vector<uint8_t>;

template <typename T>
std::string Raw(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

class RawFile {
 public:
  RawFile() { text_ = Raw(raw::RawHeader{raw::kMagic, raw::kVersion, sizeof(raw::RawHeader)}); }
  RawFile& Add(BlockKind kind, const std::string& payload) {
    text_ += Raw(raw::RawBlock{kind, 0, payload.size()}) + payload;
    return *this;
  }
  Bytes bytes() const { return {text_.begin(), text_.end()}; }

 private:
  std::string text_;
};

constexpr char kMaps[] =
    "00400000-00401000 r--p 00000000 fe:01 1234    /nowhere/server\n"
    "00401000-00402000 r-xp 00001000 fe:01 1234    /nowhere/server\n"
    "00402000-00404000 rw-p 00002000 fe:01 1234    /nowhere/server\n"
    "01000000-01021000 rw-p 00000000 00:00 0       [heap]\n";

abi::CrashRecord Record(abi::FailureKind kind) {
  abi::CrashRecord record{};
  record.magic = abi::kCrashMagic;
  record.version = abi::kCrashVersion;
  record.size = sizeof record;
  record.kind = kind;
  record.pid = 100;
  record.tid = 102;
  record.siginfo.si_signo = kind == abi::FailureKind::kException ? SIGABRT : SIGSEGV;
  record.siginfo.si_code = 1;
  record.siginfo.si_addr = reinterpret_cast<void*>(0xdead);
  for (int i = 0; i < NGREG; ++i) record.context.uc_mcontext.gregs[i] = 1000 + i;
  std::memset(record.fpstate, 0x5a, sizeof record.fpstate);
  std::strcpy(record.reason, "index out of range");
  std::strcpy(record.options, "memory=64");
  return record;
}

abi::ThrowRecord Throw() {
  abi::ThrowRecord thrown{};
  thrown.armed = 1;
  for (int i = 0; i < abi::kRegisterCount; ++i) thrown.registers[i] = 2000 + i;
  thrown.stack_address = 0x7ffe00000000;
  thrown.stack_size = 5;
  std::strcpy(thrown.type, "St13runtime_error");
  std::strcpy(thrown.what, "no such key");
  return thrown;
}

// As /proc/PID/stat. The 47th field is start_brk.
std::string Stat(const std::string& name) {
  std::string text = "42 (" + name + ") S";
  for (int field = 4; field <= 52; ++field) text += " " + std::to_string(field * 1000);
  return text + "\n";
}

RawFile WithoutEnd(abi::FailureKind kind = abi::FailureKind::kException) {
  RawFile file;
  const std::string maps = kMaps;
  file.Add(BlockKind::kRecord, Raw(Record(kind)))
      .Add(BlockKind::kProcess, Raw(raw::RawProcess{0x7f00, 0x1021000, 8 << 20, 1700000000}))
      .Add(BlockKind::kThrow, Raw(Throw()) + "stack")
      .Add(BlockKind::kReplaced, Raw(Throw()) + "first")
      .Add(BlockKind::kExecutable, "/nowhere/server")
      .Add(BlockKind::kDirectory, "/var/lib")
      .Add(BlockKind::kCommandLine, std::string("server\0--port\0\0", 15))
      .Add(BlockKind::kMaps, maps.substr(0, 70))  // as read() gave it
      .Add(BlockKind::kMaps, maps.substr(70))
      .Add(BlockKind::kStat, Stat("server"))
      .Add(BlockKind::kAbortMessage, "free(): invalid pointer\n")
      .Add(BlockKind::kThread, Raw(raw::RawThread{100, 0, "main"}))
      .Add(BlockKind::kThread, Raw(raw::RawThread{102, 1, "sixteen letters"}))
      .Add(static_cast<BlockKind>(99), "from the future")
      .Add(BlockKind::kFile, Raw(raw::RawFile{3, 2, 12, 0100644, 0, 34}) + "/tmp/input")
      .Add(BlockKind::kMemory, Raw(raw::RawMemory{0x1000000}) + "abcd")
      .Add(BlockKind::kMemory, Raw(raw::RawMemory{0x1000004}) + "efgh")
      .Add(BlockKind::kMemory, Raw(raw::RawMemory{0x1000010}) + "ijkl")
      .Add(BlockKind::kCode, Raw(raw::RawMemory{0x401000}) + "code");
  return file;
}

// The program chooses its name.
TEST(BrkStart, IsTheFortySeventhFieldBehindAnyName) {
  EXPECT_EQ(BrkStart(Stat("program")), 47000u);
  EXPECT_EQ(BrkStart(Stat(") S 1 2 (x")), 47000u);
  EXPECT_EQ(BrkStart(""), 0u);
  EXPECT_EQ(BrkStart("42 (cut) S 1 2"), 0u);
}

TEST(Arguments, AreEndedByNuls) {
  EXPECT_THAT(SplitArguments(std::string("a\0b c\0\0", 7)), ElementsAre("a", "b c", ""));
  EXPECT_THAT(SplitArguments(""), IsEmpty());
}

class RawReport : public testing::Test {
 protected:
  Result<Report> Read(const Bytes& bytes) {
    WriteBytes(path_, bytes);
    return ReadReport(path_);
  }
  void ExpectDamaged(const RawFile& file, const std::string& why) {
    Result<Report> report = Read(file.bytes());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kDamaged);
    EXPECT_THAT(report.error().message, StartsWith(path_ + ": damaged report: "));
    EXPECT_THAT(report.error().message, HasSubstr(why));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.rcraw";
};

TEST_F(RawReport, TellsWhatTheClientKept) {
  Result<Report> report = Read(WithoutEnd().Add(BlockKind::kEnd, "").bytes());
  ASSERT_TRUE(report) << report.error().message;

  const Process& process = report->process;
  EXPECT_EQ(process.pid, 100);
  EXPECT_EQ(process.program, "/nowhere/server");
  EXPECT_EQ(process.working_directory, "/var/lib");
  EXPECT_THAT(process.arguments, ElementsAre("server", "--port", ""));
  EXPECT_EQ(process.options, "memory=64");
  EXPECT_EQ(process.brk_start.value, 47000u);
  EXPECT_EQ(process.brk_end.value, 0x1021000u);
  EXPECT_EQ(process.stack_limit, 8u << 20);
  EXPECT_EQ(process.crashed_at, 1700000000);

  const Failure& failure = report->failure;
  EXPECT_EQ(failure.kind, FailureKind::kException);
  EXPECT_EQ(failure.signal, SIGABRT);
  EXPECT_EQ(failure.code, 1);
  EXPECT_EQ(failure.address.value, 0xdeadu);
  EXPECT_EQ(failure.pc.value, 1000u + REG_RIP);
  EXPECT_EQ(failure.abort_message, "free(): invalid pointer");
  EXPECT_EQ(failure.exception_type, "St13runtime_error");
  EXPECT_EQ(failure.exception_what, "no such key");
  EXPECT_EQ(failure.reason, "index out of range");

  ASSERT_THAT(report->mappings, SizeIs(4));
  ASSERT_THAT(report->modules, SizeIs(1));
  EXPECT_EQ(report->program()->base.value, 0x400000u);
  EXPECT_EQ(report->program()->size, 0x4000u);
  ASSERT_THAT(report->files, SizeIs(1));
  EXPECT_EQ(report->files[0].path, "/tmp/input");
  EXPECT_EQ(report->files[0].offset, 12u);
  EXPECT_EQ(report->files[0].size, 34u);
  ASSERT_THAT(report->memory, SizeIs(2));
  EXPECT_THAT(report->memory[0].bytes, ElementsAre('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'));
  EXPECT_EQ(report->memory[1].address.value, 0x1000010u);
  EXPECT_TRUE(report->memory_complete);
  EXPECT_THAT(report->losses,
              ElementsAre(HasSubstr("/nowhere/server: its file could not be read"), HasSubstr("without a collector")));
}

// What is lost of memory makes the memory incomplete; nothing else does. What is there many times is counted.
TEST_F(RawReport, TellsWhatIsLost) {
  const RawFile whole = WithoutEnd().Add(BlockKind::kOtherLoss, "a name").Add(BlockKind::kOtherLoss, "a name");
  Result<Report> report = Read(RawFile(whole).Add(BlockKind::kEnd, "").bytes());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->memory_complete);
  EXPECT_EQ(report->losses.back(), "a name (2 times)");
  report = Read(RawFile(whole).Add(BlockKind::kLoss, "a page").Add(BlockKind::kEnd, "").bytes());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->memory_complete);
  EXPECT_THAT(report->losses, testing::IsSupersetOf({"a page", "a name (2 times)"}));
}

// A signature needs no more, and who makes one may have little memory.
TEST_F(RawReport, IsReadWithItsStackAlone) {
  abi::CrashRecord record = Record(abi::FailureKind::kSignal);
  record.context.uc_mcontext.gregs[REG_RSP] = 0x1000006;
  RawFile file;
  file.Add(BlockKind::kRecord, Raw(record));
  for (const auto& [address, text] : {std::pair(0x1000000u, "abcd"), std::pair(0x1000004u, "efgh"),
                                      std::pair(0x1000008u, "ijkl"), std::pair(0x1200000u, "mnop")})
    file.Add(BlockKind::kMemory, Raw(raw::RawMemory{address}) + text);
  WriteBytes(path_, file.bytes());
  const Result<Report> report = ReadForSignature(path_);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_THAT(report->memory, SizeIs(1));
  EXPECT_EQ(report->memory[0].address.value, 0x1000004u);
  EXPECT_THAT(report->memory[0].bytes, SizeIs(8));
}

// gregs is in the kernel's order, rax the fourteenth of it.
TEST_F(RawReport, OrdersRegistersAsDwarfDoes) {
  Result<Report> report = Read(WithoutEnd().bytes());
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_THAT(report->threads, SizeIs(2));
  EXPECT_EQ(report->threads[0].name, "main");
  EXPECT_FALSE(report->threads[0].failing);
  const Thread* failing = report->failing_thread();
  ASSERT_EQ(failing, &report->threads[1]);
  EXPECT_EQ(failing->name, "sixteen letters");
  EXPECT_THAT(
      failing->registers.dwarf,
      ElementsAre(1000 + REG_RAX, 1000 + REG_RDX, 1000 + REG_RCX, 1000 + REG_RBX, 1000 + REG_RSI, 1000 + REG_RDI,
                  1000 + REG_RBP, 1000 + REG_RSP, 1000 + REG_R8, 1000 + REG_R9, 1000 + REG_R10, 1000 + REG_R11,
                  1000 + REG_R12, 1000 + REG_R13, 1000 + REG_R14, 1000 + REG_R15, 1000 + REG_RIP));
  EXPECT_EQ(failing->registers.eflags, 1000u + REG_EFL);
  EXPECT_EQ(failing->registers.fs_base, 0x7f00u);
  EXPECT_EQ(failing->registers.fxsave, Bytes(512, 0x5a));
}

TEST_F(RawReport, HasTheStackOfTheThrowOnlyOfTheExceptionThatEndedIt) {
  Result<Report> report = Read(WithoutEnd().bytes());
  ASSERT_TRUE(report && report->thrown);
  EXPECT_EQ(report->thrown->registers.dwarf[16], 2016u);
  EXPECT_EQ(report->thrown->address.value, 0x7ffe00000000u);
  EXPECT_THAT(report->thrown->bytes, ElementsAre('s', 't', 'a', 'c', 'k'));
  ASSERT_TRUE(report->replaced);
  EXPECT_EQ(report->replaced->what, "no such key");
  EXPECT_THAT(report->replaced->stack.bytes, ElementsAre('f', 'i', 'r', 's', 't'));
  // A crash while an exception was on its way has its own stack.
  report = Read(WithoutEnd(abi::FailureKind::kSignal).bytes());
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->thrown);
  EXPECT_FALSE(report->replaced);
  EXPECT_EQ(report->failure.exception_type, "");
}

// For a signal that a process sent, the field of the address holds who sent it.
TEST_F(RawReport, HasNoAddressOfASignalThatWasSent) {
  abi::CrashRecord record = Record(abi::FailureKind::kSignal);
  record.siginfo.si_code = SI_USER;
  Result<Report> report = Read(RawFile().Add(BlockKind::kRecord, Raw(record)).bytes());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->failure.address, TargetAddress{});
}

// Objects of one program may be built with different options; the first note need not be the one with a version.
TEST_F(RawReport, TakesModeAndVersionFromTheNoteThatHasOne) {
  const Bytes elf = SmallElf(BuildText("mode=full;version=") + BuildText("mode=references;version=1.2")).bytes();
  const std::string head = Raw(raw::RawMemory{0x400000}) + std::string(elf.begin(), elf.end());
  Result<Report> report = Read(WithoutEnd().Add(BlockKind::kModuleHead, head).bytes());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->process.version, "1.2");
  EXPECT_EQ(report->process.mode, "references");
}

// The test itself as the program that crashed: its head says where it is loaded and, with the file, its build-id.
TEST_F(RawReport, TakesModulesFromTheirHeads) {
  std::ifstream in("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>(in), {}};
  const Bytes libc = ReadBytes("/lib/x86_64-linux-gnu/libc.so.6");
  const size_t line = maps.rfind('\n', maps.find("libc.so.6")) + 1;
  const uint64_t base = std::stoull(maps.substr(line), nullptr, 16);
  const std::string head = Raw(raw::RawMemory{base}) + std::string(libc.begin(), libc.begin() + 4096);
  Result<Report> report = Read(WithoutEnd().Add(BlockKind::kMaps, maps).Add(BlockKind::kModuleHead, head).bytes());
  ASSERT_TRUE(report) << report.error().message;
  const Module* module = report->FindModule({base});
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(module->path, HasSubstr("libc.so.6"));
  EXPECT_THAT(module->build_id, SizeIs(40));
  EXPECT_EQ(module->bias, base);
}

TEST_F(RawReport, OfAnEarlierMomentIsNotBelieved) {
  RawFile none;
  ExpectDamaged(none.Add(BlockKind::kEnd, ""), "holds no crash record");
  for (auto change :
       {+[](abi::CrashRecord& record) { record.magic = 1; }, +[](abi::CrashRecord& record) { record.version = 7; },
        +[](abi::CrashRecord& record) { record.size = 8; },
        +[](abi::CrashRecord& record) { record.kind = static_cast<abi::FailureKind>(9); }}) {
    abi::CrashRecord record = Record(abi::FailureKind::kSignal);
    change(record);
    RawFile file;
    Result<Report> report = Read(file.Add(BlockKind::kRecord, Raw(record)).bytes());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, Errc::kDamaged);
  }
}

TEST_F(RawReport, IsToldFromANewerVersion) {
  Bytes bytes = WithoutEnd().bytes();
  bytes[offsetof(raw::RawHeader, version)] = 2;
  EXPECT_EQ(Read(bytes).error().code, Errc::kUnsupportedVersion);
  bytes[offsetof(raw::RawHeader, version)] = 0;
  EXPECT_EQ(Read(bytes).error().code, Errc::kDamaged);
}

TEST_F(RawReport, HasMemoryInOrder) {
  ExpectDamaged(WithoutEnd().Add(BlockKind::kMemory, Raw(raw::RawMemory{0x1000012}) + "x"), "out of order");
  ExpectDamaged(WithoutEnd().Add(BlockKind::kCode, Raw(raw::RawMemory{0x401000}) + "x"), "more than possible");
  ExpectDamaged(WithoutEnd().Add(BlockKind::kCode, "x"), "at least 8 expected");
  ExpectDamaged(WithoutEnd().Add(BlockKind::kMemory, Raw(raw::RawMemory{UINT64_MAX}) + "xx"), "out of order");
  ExpectDamaged(
      WithoutEnd().Add(BlockKind::kMemory, Raw(raw::RawMemory{1ull << 40}) + std::string(raw::kMaxRun + 1, 'x')),
      "more than possible");
  ExpectDamaged(WithoutEnd().Add(BlockKind::kMemory, "short"), "at least 8 expected");
}

// A full disk or the time limit cuts it anywhere. What was written before is worth reading.
TEST_F(RawReport, MayBeCutAnywhere) {
  const Bytes whole = WithoutEnd().Add(BlockKind::kEnd, "").bytes();
  const size_t record_end = sizeof(raw::RawHeader) + sizeof(raw::RawBlock) + sizeof(abi::CrashRecord);
  for (size_t size = 0; size < whole.size(); ++size) {
    Result<Report> report = Read(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
    ASSERT_EQ(static_cast<bool>(report), size >= record_end) << size;
    if (!report) {
      EXPECT_EQ(report.error().code, Errc::kDamaged);
      continue;
    }
    EXPECT_EQ(report->failure.signal, SIGABRT);
    EXPECT_FALSE(report->memory_complete);
    EXPECT_THAT(report->losses.back(), HasSubstr("cut before its end"));
  }
}

// There is no checksum: any content may come. It is read or refused, quickly.
TEST_F(RawReport, MayHoldAnything) {
  const Bytes good = WithoutEnd().Add(BlockKind::kEnd, "").bytes();
  std::mt19937 random(7);
  int read = 0;
  const int rounds = 4000;
  const std::clock_t start = std::clock();  // of the processor: the machine may be busy
  for (int round = 0; round < rounds; ++round) {
    Bytes bytes = good;
    for (unsigned changes = 1 + random() % 6; changes > 0; --changes)
      bytes[sizeof raw::kMagic + random() % (bytes.size() - sizeof raw::kMagic)] = static_cast<uint8_t>(random());
    Result<Report> report = Read(bytes);
    if (!report) continue;
    ++read;
    EXPECT_FALSE(Dump(*report).empty());
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, rounds);
  EXPECT_LT(std::clock() - start, rounds * CLOCKS_PER_SEC / 50);
}

abi::Addition Added(uint64_t number, abi::AdditionKind kind, std::string_view text) {
  abi::Addition addition{};
  addition.number = number;
  addition.kind = kind;
  text.copy(addition.text, sizeof addition.text);
  return addition;
}

std::string HeadOf(const abi::Additions& additions) {
  return Raw(additions).substr(0, offsetof(abi::Additions, states));
}

TEST_F(RawReport, HasTheNewestNotesOfTheProgram) {
  RawFile file = WithoutEnd();
  abi::Additions head{};
  head.lost[0] = 3;
  head.answer = abi::Answer::kTimedOut;
  file.Add(BlockKind::kAdditions, HeadOf(head))
      .Add(BlockKind::kAddition, Raw(Added(7, abi::AdditionKind::kNote, {"key\0new", 7})))
      .Add(BlockKind::kAddition, Raw(Added(5, abi::AdditionKind::kNote, {"key\0old", 7})))
      .Add(BlockKind::kAddition, Raw(Added(6, abi::AdditionKind::kLog, "/var/log/x")))
      .Add(BlockKind::kEnd, "");
  const Result<Report> report = Read(file.bytes());
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->notes[0].value, "new");
  EXPECT_THAT(report->losses, testing::IsSupersetOf({"notes of the program: there may be 64",
                                                     "the answer of the program's callback (RECRASH_BEFORE_REPORT): "
                                                     "it took too long"}));
}

// No text has an end, no kind is known.
TEST_F(RawReport, OfHostileAdditionsIsRead) {
  RawFile file = WithoutEnd();
  abi::Additions head;
  std::memset(static_cast<void*>(&head), 0xff, sizeof head);
  file.Add(BlockKind::kAdditions, HeadOf(head))
      .Add(BlockKind::kAddition, Raw(Added(1, abi::AdditionKind::kNote, std::string(abi::kAdditionText, 'x'))))
      .Add(BlockKind::kAddition, Raw(Added(1, static_cast<abi::AdditionKind>(77), "../../etc")))
      .Add(BlockKind::kEnd, "");
  const Result<Report> report = Read(file.bytes());
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->notes[0].key.size(), abi::kAdditionText);
  RawFile empty = WithoutEnd();
  EXPECT_TRUE(Read(empty.Add(BlockKind::kAdditions, "").Add(BlockKind::kEnd, "").bytes()));
  RawFile cut = WithoutEnd();
  cut.Add(BlockKind::kAddition, "short");
  EXPECT_FALSE(Read(cut.bytes()));
  RawFile many = WithoutEnd();
  for (uint32_t i = 0; i <= 2 * abi::kAdditionSlots; ++i) many.Add(BlockKind::kAddition, Raw(abi::Addition{}));
  EXPECT_FALSE(Read(many.bytes()));
}

std::string NamedFile(raw::NamedFileKind kind, uint64_t size, const std::string& path, const std::string& content) {
  return Raw(raw::RawNamedFile{kind, 0, size, path.size()}) + path + content;
}

TEST_F(RawReport, HoldsNamedFiles) {
  RawFile file = WithoutEnd();
  file.Add(BlockKind::kNamedFile, NamedFile(raw::NamedFileKind::kAttached, 3, "/etc/x", "abc"))
      .Add(BlockKind::kNamedFile, NamedFile(raw::NamedFileKind::kAttached, 9 << 20, "/etc/y", ""))
      .Add(BlockKind::kNamedFile, NamedFile(raw::NamedFileKind::kStandardError, 99, "/tmp/err", "end"))
      .Add(BlockKind::kEnd, "");
  const Result<Report> report = Read(file.bytes());
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->inputs.size(), 1u);
  EXPECT_TRUE(report->inputs[0].attached && report->inputs[0].held());
  EXPECT_THAT(report->losses, testing::Contains("attached file /etc/y: it is too large, or all attached files are"));
  ASSERT_EQ(report->logs.size(), 1u);
  EXPECT_EQ(report->logs[0].size, 99u);
  EXPECT_EQ(report->logs[0].tail.size(), 3u);
}

TEST_F(RawReport, WithNamedFilesThatNoWriterMakesIsDamaged) {
  const auto damaged = [&](const std::string& block) {
    RawFile file = WithoutEnd();
    return !Read(file.Add(BlockKind::kNamedFile, block).Add(BlockKind::kEnd, "").bytes());
  };
  EXPECT_TRUE(damaged("short"));
  EXPECT_TRUE(damaged(Raw(raw::RawNamedFile{raw::NamedFileKind::kLog, 0, 5, UINT64_MAX}) + "/x"));
  EXPECT_TRUE(damaged(NamedFile(raw::NamedFileKind::kLog, 2, "/x", "abc"))) << "more than the file has";
  EXPECT_TRUE(damaged(NamedFile(raw::NamedFileKind::kLog, 1 << 20, "/x", std::string((64 << 10) + 1, 'x'))));
  EXPECT_TRUE(damaged(NamedFile(raw::NamedFileKind::kAttached, 5 << 20, "/x", std::string((4 << 20) + 1, 'x'))));
}

}  // namespace
}  // namespace recrash
