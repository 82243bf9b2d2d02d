// What a program adds to its reports: notes, attached files, logs, standard error.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "agent/client/testing_program.h"
#include "agent/report/archive.h"

namespace recrash {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

std::map<std::string, std::string> NotesOf(const Report& report) {
  std::map<std::string, std::string> notes;
  for (const Note& note : report.notes) notes[note.key] = note.value;
  return notes;
}

std::string TextOf(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

const Input* FindAttached(const Report& report, const std::string& name) {
  const auto found = std::ranges::find_if(
      report.inputs, [&](const Input& input) { return input.attached && input.path.ends_with("/" + name); });
  return found == report.inputs.end() ? nullptr : &*found;
}

const KeptLog* FindLog(const Report& report, LogKind kind) {
  const auto found = std::ranges::find(report.logs, kind, &KeptLog::kind);
  return found == report.logs.end() ? nullptr : &*found;
}

// With and without a collector.
class Notes : public testing::TestWithParam<bool> {
 protected:
  static Program Adding(const std::string& what, const std::string& failure = "segv") {
    Program program = Program::Adding(what, failure);
    if (!GetParam()) program.With("RECRASH_COLLECTOR", "/nonexistent");
    return program;
  }
  static Report OnlyReport(const Ran& ran) { return ran.OnlyReport(GetParam() ? ".rcr" : ".rcraw"); }
};

INSTANTIATE_TEST_SUITE_P(ByBoth, Notes, testing::Bool(),
                         [](const auto& info) { return info.param ? "Collector" : "RawWriter"; });

TEST_P(Notes, AreTheLastValueOfEachKey) {
  const Ran ran = Adding("notes").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(NotesOf(OnlyReport(ran)),
              ElementsAre(Pair("document", "letter.odt"), Pair("escape", "\x1b[2Jred\nline"), Pair("level", "2")));
}

TEST_P(Notes, AreBounded) {
  const Report report = OnlyReport(Adding("many").Run());
  EXPECT_EQ(report.notes.size(), 64u);
  const auto notes = NotesOf(report);
  EXPECT_THAT(notes, Contains(Pair("note100", "changed")));
  EXPECT_THAT(notes, Contains(Pair("note101", std::string(943, 'x'))));
  EXPECT_TRUE(report.notes[1].cut);
  EXPECT_FALSE(report.notes[0].cut);
  EXPECT_THAT(report.losses, Contains("notes of the program: there may be 64"));
}

TEST_P(Notes, AreWrittenByManyThreadsAndHandlers) {
  const Report report = OnlyReport(Adding("threads").Run());
  const auto notes = NotesOf(report);
  EXPECT_EQ(notes.size(), 10u);
  for (int i = 0; i < 8; ++i) EXPECT_THAT(notes, Contains(Pair("thread" + std::to_string(i), "20000")));
  EXPECT_THAT(notes, Contains(Pair("handler", "ran")));
  const std::string shared = notes.count("shared") != 0 ? notes.at("shared") : "none";
  EXPECT_EQ(shared, std::string(20000 % 900, shared.empty() ? '?' : shared[0]));
  EXPECT_THAT(report.losses, Not(Contains(HasSubstr("notes of the program"))));
}

// Half a value is worse than the one before.
TEST_P(Notes, AreWholeThoughAWriterWasAtWork) {
  for (const char* failure : {"segv", "report"}) {  // with this one, threads run on while a raw report is written
    for (int i = 0; i < 5; ++i) {
      const auto notes = NotesOf(OnlyReport(Adding("busy", failure).Run()));
      EXPECT_EQ(notes.size(), 8u) << failure;
      for (const auto& [key, value] : notes) EXPECT_EQ(value, std::string(900, value[0]));
    }
  }
}

TEST_P(Notes, AreMaskedWhereTheyAreSensitive) {
  const Ran ran = Adding("secret").Run();
  EXPECT_THAT(NotesOf(OnlyReport(ran)), ElementsAre(Pair("password", std::string(28, '*'))));
}

// Their pages are the agent's: not memory of the program, and nothing that it withholds.
TEST_P(Notes, AreNotInMemory) {
  const Report report = OnlyReport(Adding("notes").Run());
  for (const Region& region : report.memory) {
    const std::string text = TextOf(region.bytes);
    EXPECT_EQ(text.find(std::string("document\0letter.odt", 19)), text.npos);
  }
  EXPECT_THAT(report.losses, Not(Contains(HasSubstr("MADV_DONTDUMP"))));
  EXPECT_TRUE(std::ranges::none_of(report.mappings, [](const Mapping& m) { return m.flags & kMapWithheld; }));
}

TEST(NotesOfAPreloadedProgram, AreInItsReport) {
  const Ran ran = Program::Adding("notes").Preloaded().Run();
  EXPECT_THAT(NotesOf(ran.OnlyReport()), Contains(Pair("level", "2")));
}

TEST(Additions, DoNothingWithoutRecrash) {
  for (const std::string what : {"notes", "many", "threads", "files", "ask-refuse"}) {
    const Ran ran = Program::AddingUnwatched(what, "nothing").Run();
    EXPECT_EQ(ran.outcome(), 7) << what;
    EXPECT_THAT(ran.output() + ran.errors(), IsEmpty());
  }
}

void MakeFiles() {
  std::ofstream("settings") << "colour=red";
  std::ofstream("forgotten") << "forgotten";
  std::ofstream("large") << std::string((1 << 20) + 1, 'x');
  mkfifo("pipe", 0600);
  std::ofstream log("log");
  for (int i = 0; i < 20000; ++i) log << "line " << i << "\n";
}

// As Notes: with and without a collector.
class Files : public Notes {};
INSTANTIATE_TEST_SUITE_P(ByBoth, Files, testing::Bool(),
                         [](const auto& info) { return info.param ? "Collector" : "RawWriter"; });

TEST_P(Files, ThatAreAttachedAreHeldAsTheyAreAtTheCrash) {
  const Report report = OnlyReport(Adding("files").After(MakeFiles).Run());
  const Input* settings = FindAttached(report, "settings");
  ASSERT_NE(settings, nullptr);
  EXPECT_EQ(TextOf(settings->bytes), "colour=red");
  for (const char* name : {"forgotten", "missing", "large", "pipe", "environ"})
    EXPECT_EQ(FindAttached(report, name), nullptr) << name;
  EXPECT_THAT(report.losses, Contains(AllOf(HasSubstr("attached file /"), HasSubstr("/large: "), HasSubstr("large"))));
  for (const char* name : {"/missing: it is not there", "/pipe: it is not there", "environ: it is"})
    EXPECT_THAT(report.losses, Contains(HasSubstr(name)));
}

TEST_P(Files, ThatAreAttachedAreMasked) {
  const Report report = OnlyReport(Adding("secret").Run());
  const Input* attached = FindAttached(report, "attached");
  ASSERT_NE(attached, nullptr);
  EXPECT_EQ(TextOf(attached->bytes), "password=" + std::string(28, '*') + "\n");
}

TEST_P(Files, ThatAreLogsHaveTheirLast64KiB) {
  const Report report = OnlyReport(Adding("files").After(MakeFiles).Run());
  const KeptLog* log = FindLog(report, LogKind::kNamed);
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(std::ranges::count(report.logs, LogKind::kNamed, &KeptLog::kind), 1);
  EXPECT_EQ(log->tail.size(), 64u << 10);
  EXPECT_GT(log->size, log->tail.size());
  EXPECT_TRUE(TextOf(log->tail).ends_with("\nline 19998\nline 19999\n"));
  EXPECT_THAT(report.losses, Contains(HasSubstr("/missing-log: it is not there")));
}

TEST_P(Files, ThatAreLogsAreMasked) {
  const Report report = OnlyReport(Adding("secret").Run());
  for (const LogKind kind : {LogKind::kNamed, LogKind::kStandardError}) {
    const KeptLog* log = FindLog(report, kind);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(TextOf(log->tail), "password=" + std::string(28, '*') + "\n");
  }
}

// Standard error of a test's program is a file.
TEST(StandardError, IsKeptIfItIsAFile) {
  const Report report = Program::Adding("secret").Run().OnlyReport();
  EXPECT_TRUE(FindLog(report, LogKind::kStandardError)->path.ends_with("/errors"));
}

TEST_P(Files, ThatAreStandardErrorAreKeptThoughTheirNameIsGone) {
  const Report report = OnlyReport(Adding("secret").After([] { unlink("errors"); }).Run());
  ASSERT_NE(FindLog(report, LogKind::kStandardError), nullptr);
}

TEST_P(Files, AreNotStandardErrorIfThatIsAPipe) {
  const Report report = OnlyReport(Adding("secret")
                                       .After([] {
                                         int ends[2];
                                         if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(124);
                                       })
                                       .Run());
  EXPECT_EQ(FindLog(report, LogKind::kStandardError), nullptr);
  EXPECT_THAT(report.losses, Not(Contains(HasSubstr("standard error"))));
}

TEST_P(Files, ThatAreLogsAreLeftOutByTheOption) {
  const Report report = OnlyReport(Adding("secret").With("RECRASH_OPTIONS", "logs=0").Run());
  EXPECT_THAT(report.logs, IsEmpty());
}

// What is not known cannot be masked.
TEST_P(Files, AreLeftOutWhereTooMuchIsMarked) {
  const Report report = OnlyReport(Adding("too-many-secrets").Run());
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_THAT(report.logs, IsEmpty());
  EXPECT_EQ(FindAttached(report, "attached"), nullptr);
}

}  // namespace
}  // namespace recrash
