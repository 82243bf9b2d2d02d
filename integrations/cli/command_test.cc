// The `recrash` command from outside: exit codes, what goes to stdout and stderr, and that nothing of a report gets to
// the terminal as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "agent/process/subprocess.h"
#include "agent/report/reader.h"
#include "agent/report/testing_reports.h"
#include "agent/report/writer.h"

namespace recrash::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Command : public ::testing::Test {
 protected:
  struct Outcome {
    int code = -1;
    std::string out, err;
  };

  Command() { fs::create_directory(store_); }

  // Through a shell, in the temporary folder, with the store there.
  Outcome Run(const std::string& words) {
    const std::string line = "cd '" + folder_.path() + "' && '" RECRASH_COMMAND "' " + words + " > out 2> err";
    ProcessOptions options;
    options.environment = {{"RECRASH_DIR", store_},
                           {"RECRASH_SUPPORT_DIR", RECRASH_PRELOAD_DIRECTORY},
                           {"RECRASH_COLLECTOR", RECRASH_COLLECTOR_PATH}};
    const Result<ProcessResult> result = RunProcess({"/bin/sh", "-c", line}, options);
    if (!result) return {};
    return {result->exit_code(), Slurp(folder_ / "out"), Slurp(folder_ / "err")};
  }

  // A report in the store, `age` seconds old.
  void Store(const std::string& name, const Report& report, int age = 0) {
    const std::string path = store_ + "/" + name + ".rcr";
    ASSERT_TRUE(WriteReport(report, path));
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(age));
  }

  TemporaryDirectory folder_;
  std::string store_ = folder_ / "store";
};

Report Crash(const std::string& program, int signal = SIGSEGV) {
  Report report = SmallReport();
  report.process.program = program;
  report.failure = {};
  report.failure.signal = signal;
  report.failure.pc = {0x1234};
  Module module;
  module.path = program;
  module.build_id = "00112233445566778899aabbccddeeff00112233";
  module.base = {0x1000};
  module.size = 0x1000;
  module.is_program = true;
  report.modules = {module};
  return report;
}

TEST_F(Command, TeachesByHelp) {
  const Outcome help = Run("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("recrash reproduce --program ./x"), HasSubstr("Exit codes"), HasSubstr("list"),
                              HasSubstr("verify")));
  for (const char* subcommand : {"run", "dump", "list", "prune", "show", "generate", "verify", "reproduce", "debug"}) {
    const Outcome each = Run(std::string(subcommand) + " --help");
    EXPECT_EQ(each.code, 0) << subcommand;
    EXPECT_NE(each.out, "") << subcommand;
  }
  EXPECT_THAT(Run("--version").out, StartsWith("recrash 0."));
}

TEST_F(Command, RefusesWrongUsageWithCode2) {
  for (const char* words : {"", "frobnicate", "list --nonsense", "generate", "verify", "run", "verify --timeout x d",
                            "reproduce --timeout -5", "dump", "dump 0", "dump x"}) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 2) << words;
    EXPECT_THAT(outcome.err, StartsWith("recrash: error: ")) << words;
    EXPECT_EQ(outcome.out, "") << words;
  }
}

TEST_F(Command, DumpsARunningProcess) {
  const Outcome dump = Run("dump $$");
  EXPECT_EQ(dump.code, 0) << dump.err;
  EXPECT_THAT(dump.out, HasSubstr("report in " + store_ + "/"));
  EXPECT_EQ(Run("dump 4194304").code, 4);
  EXPECT_THAT(Run("dump $$ --thread 1").err, HasSubstr("has no thread 1"));
}

TEST_F(Command, ListsNewestFirst) {
  Store("old-1", Crash("/bin/old"), 60);
  Store("new-2", Crash("/bin/new", SIGABRT));
  const Outcome list = Run("list --all --json list.json");
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, AllOf(StartsWith("new-2"), HasSubstr("SIGABRT"), HasSubstr("\nold-1")));
  const auto json = nlohmann::json::parse(Slurp(folder_ / "list.json"));
  ASSERT_EQ(json["reports"].size(), 2u);
  EXPECT_EQ(json["reports"][0]["program"], "/bin/new");
}

Report SignedCrash(const std::string& signature, int64_t hours, int signal = SIGSEGV) {
  Report report = Crash("/bin/server", signal);
  report.signature = signature;
  report.process.crashed_at = (int64_t{1'780'000'000} + hours * 3600) * 1'000'000'000;
  return report;
}

const std::string kA(32, 'a'), kB(32, 'b'), kC(32, 'c');

TEST_F(Command, ListsReportsOfOneCrashInOneLine) {
  Store("s-1", SignedCrash(kA, 1), 60);
  Store("s-2", SignedCrash(kB, 2, SIGABRT), 50);
  Store("s-3", SignedCrash(kA, 3), 40);
  Store("unsigned-1", SignedCrash("", 4), 30);
  Store("unsigned-2", SignedCrash("", 5), 20);
  const Outcome list = Run("list --json list.json");
  EXPECT_THAT(list.out, MatchesRegex("count .*\n"
                                     " +1 .* unsigned-2 .*\n"
                                     " +1 .* unsigned-1 .*\n"
                                     " +2  2026-05-28 21:26:40 UTC  2026-05-28 23:26:40 UTC  s-3 .*SIGSEGV.*\n"
                                     " +1  .*  s-2 .*SIGABRT.*\n"));
  const auto groups = nlohmann::json::parse(Slurp(folder_ / "list.json"))["groups"];
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[2]["count"], 2);
  EXPECT_EQ(groups[2]["reports"], (nlohmann::json{"s-3", "s-1"}));
}

// What `recrash show` has found, of one report of each build.
TEST_F(Command, ListsBuildsOfOneChainInOneLine) {
  Store("s-1", SignedCrash(kA, 1), 60);
  Store("s-2", SignedCrash(kB, 2), 50);
  std::ofstream(store_ + "/.recrash-index") << "chain " << kA << " " << kC << " SIGSEGV in Book at book.cc\nchain "
                                            << kB << " " << kC << " SIGSEGV in Book at book.cc\n";
  EXPECT_THAT(Run("list").out, MatchesRegex("count .*\n +2 .* s-2 +server[^\n]*: SIGSEGV in Book at book.cc\n"));
}

TEST_F(Command, CountsReportsThatAreGone) {
  Store("s-1", SignedCrash(kA, 100));
  std::ofstream(store_ + "/.recrash-index") << "gone " << kA << " 41 1780000000 1780003600\n";
  EXPECT_THAT(Run("list").out, HasSubstr("   42  2026-05-28 20:26:40 UTC  2026-06-02 00:26:40 UTC  s-1"));
}

TEST_F(Command, PrunesByTheRulesOfTheCollector) {
  for (int i = 1; i <= 5; ++i) Store("s-20260528-20264" + std::to_string(i) + "-1", SignedCrash(kA, i), 100 - i);
  Store("mine", SignedCrash(kA, 0), 1000);
  const Outcome dry = Run("prune --dry-run");
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(dry.out,
            "s-20260528-202642-1  has 3 newer ones of the same crash\n"
            "s-20260528-202641-1  has 3 newer ones of the same crash\n");
  EXPECT_THAT(dry.err, MatchesRegex("recrash: would remove 2 reports of .*; 3 reports of .* left\n"));
  EXPECT_EQ(Run("list --all").out.find("s-20260528-202641-1") == std::string::npos, false);
  const Outcome prune = Run("prune --json -");
  EXPECT_EQ(nlohmann::json::parse(prune.out)["removed"].size(), 2u);
  EXPECT_THAT(Run("list --all").out, AllOf(Not(HasSubstr("202641")), HasSubstr("202643"), HasSubstr("mine")));
  EXPECT_EQ(Run("prune").out, "");
}

TEST_F(Command, PrunesByTheRulesThatAreGiven) {
  for (int i = 1; i <= 5; ++i) Store("s-20260528-20264" + std::to_string(i) + "-1", SignedCrash(kA, i), i * 90000);
  EXPECT_THAT(Run("prune --older-than 5").out, HasSubstr("202645-1  is older than 5 days\n"));
  EXPECT_THAT(Run("prune --older-than 5").out, "");  // the other four stay: no other rule was given
  EXPECT_THAT(Run("prune --max-size 1").out, "");
  EXPECT_THAT(Run("prune --keep 1").out, HasSubstr("has 1 newer one of the same crash"));
  EXPECT_THAT(Run("list").out, HasSubstr("    5  "));
  EXPECT_EQ(Run("prune --keep 0").code, 2);
  EXPECT_EQ(Run("prune --older-than -1").code, 2);
}

TEST_F(Command, PruneOfNoStoreIsNoError) {
  fs::remove_all(store_);
  const Outcome prune = Run("prune");
  EXPECT_EQ(prune.code, 0);
  EXPECT_THAT(prune.err, HasSubstr("no report in"));
  EXPECT_FALSE(fs::exists(store_));
}

TEST_F(Command, ListsADamagedReportAsSuch) {
  Store("good", Crash("/bin/good"), 10);
  WriteBytes(store_ + "/bad.rcr", {'n', 'o'});
  const Outcome list = Run("list");
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, AllOf(HasSubstr("damaged"), HasSubstr("good")));
}

// Damage in the memory is no business of the list's, nor of the search for a program's report.
TEST_F(Command, ReadsMetadataAloneWhereThatIsEnough) {
  Store("one", Crash("/bin/one"));
  std::vector<uint8_t> file = ReadBytes(store_ + "/one.rcr");
  file.back() ^= 1;
  WriteBytes(store_ + "/one.rcr", file);
  EXPECT_THAT(Run("list").out, AllOf(HasSubstr("SIGSEGV"), Not(HasSubstr("damaged"))));
  EXPECT_EQ(Run("show --files one").code, 0);
  EXPECT_EQ(Run("show one").code, 3);
  EXPECT_THAT(Run("reproduce --program /bin/one").err, HasSubstr("one.rcr: damaged report: "));
}

TEST_F(Command, AnEmptyStoreIsNoError) {
  const Outcome list = Run("list");
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(list.out, "");
  EXPECT_THAT(list.err, HasSubstr("no report in"));
}

TEST_F(Command, ShowsWhatAReportSaysWithoutTheProgram) {
  Store("gone-1", Crash("/nowhere/gone"));
  const Outcome show = Run("show --json show.json");
  EXPECT_EQ(show.code, 0);
  EXPECT_THAT(show.out, AllOf(HasSubstr("SIGSEGV"), HasSubstr("/nowhere/gone"), HasSubstr("holds")));
  const auto json = nlohmann::json::parse(Slurp(folder_ / "show.json"));
  EXPECT_EQ(json["program"], "/nowhere/gone");
  EXPECT_EQ(json["report_bytes"], std::filesystem::file_size(store_ + "/gone-1.rcr"));
}

// What a script needs to tell failures apart, also where no program is at hand.
TEST_F(Command, ShowsHowAProgramFailed) {
  Report report = Crash("/nowhere/gone", SIGABRT);
  report.failure.kind = FailureKind::kException;
  report.failure.code = -6;
  report.failure.exception_type = "i";
  report.failure.abort_message = "the last word";
  report.process.pid = 42;
  report.threads.front().failing = true;
  report.threads.front().id = 43;
  Store("gone-1", report);
  EXPECT_EQ(Run("show --json show.json").code, 0);
  const auto json = nlohmann::json::parse(Slurp(folder_ / "show.json"));
  EXPECT_EQ(json["code"], -6);
  EXPECT_EQ(json["pc"], 0x1234);
  EXPECT_EQ(json["process"], 42);
  EXPECT_EQ(json["thread"], 43);
  EXPECT_EQ(json["message"], "the last word");
  EXPECT_EQ(json["exception"]["type"], "int");
}

// Whoever passes a report on must know what is in it.
TEST_F(Command, ShowsWhichFilesAReportHolds) {
  Report report = Crash("/bin/server");
  report.inputs = {{{"in.txt", "./in.txt"}, "/home/u/in.txt", 3, std::string(64, 'a'), InputContent::kHeld, {1, 2, 3}},
                   {{}, "/var/db", 5 << 20, std::string(64, 'b'), InputContent::kTooLarge, {}},
                   {{}, "/var/huge", 3u << 30, "", InputContent::kNotAsked, {}}};
  Store("server-1", report);
  const Outcome show = Run("show --json show.json");
  EXPECT_THAT(show.out,
              AllOf(HasSubstr("file in.txt, 3 bytes, content held\n"),
                    HasSubstr("file /var/db, 5.0 MiB, content not held, only its SHA-256 (larger than 4 MiB)\n"),
                    HasSubstr("file /var/huge, 3072.0 MiB, content not held (RECRASH_OPTIONS=files=embed")));
  const auto inputs = nlohmann::json::parse(Slurp(folder_ / "show.json"))["inputs"];
  EXPECT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0]["names"][1], "./in.txt");
  EXPECT_TRUE(inputs[0]["held"]);
  EXPECT_FALSE(inputs[1]["held"]);
  EXPECT_EQ(inputs[1]["why_not"], "larger than 4 MiB");
}

TEST_F(Command, FindsAReportByTheBeginningOfItsName) {
  Store("server-2026-1", Crash("/bin/server"));
  Store("server-2026-2", Crash("/bin/server"));
  Store("client-2026-1", Crash("/bin/client"));
  EXPECT_THAT(Run("show cli").out, HasSubstr("/bin/client"));
  const Outcome ambiguous = Run("show server-2026");
  EXPECT_EQ(ambiguous.code, 2);
  EXPECT_THAT(ambiguous.err, AllOf(HasSubstr("server-2026-1"), HasSubstr("server-2026-2")));
  const Outcome missing = Run("show nothing");
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.err, HasSubstr("recrash list"));
}

TEST_F(Command, TakesABareNameForAReportBeforeAFile) {
  Store("server-1", Crash("/bin/server"));
  std::ofstream(folder_ / "server") << "the program";
  EXPECT_THAT(Run("show server").out, HasSubstr("/bin/server"));
  EXPECT_EQ(Run("show ./server").code, 3);
}

// The newest of all is another program's.
TEST_F(Command, TakesTheNewestReportOfTheProgram) {
  Store("server-old", Crash("/bin/server", SIGFPE), 60);
  Store("server-new", Crash("/srv/server", SIGILL), 30);
  Store("client", Crash("/bin/client"));
  EXPECT_THAT(Run("show --program /bin/server").out, HasSubstr("SIGFPE"));   // by path
  EXPECT_THAT(Run("show --program build/server").out, HasSubstr("SIGILL"));  // by file name
  const Outcome none = Run("reproduce --program ./other");
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("no report of ./other"));
}

TEST_F(Command, GivesCode3ForADamagedReport) {
  Store("whole", Crash("/bin/whole"));
  std::vector<uint8_t> bytes = ReadBytes(store_ + "/whole.rcr");
  bytes[bytes.size() / 2] ^= 0x10;
  WriteBytes(folder_ / "broken.rcr", bytes);
  for (const char* words : {"show broken.rcr", "generate broken.rcr -o d", "reproduce broken.rcr"}) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 3) << words;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("recrash: error: broken.rcr: "), HasSubstr("damaged"))) << words;
    EXPECT_EQ(outcome.out, "");
  }
}

// Raw reports and profiles too.
TEST_F(Command, WaitsForNoFifoInPlaceOfAFile) {
  for (const char* name : {"store/x.rcr", "store/y.rcraw", "z.recrash-profile"})
    ASSERT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
  alarm(60);
  EXPECT_EQ(Run("list").code, 0);
  for (const char* words : {"show store/x.rcr", "show store/y.rcraw", "show --strings store/y.rcraw",
                            "profile show z.recrash-profile", "profile merge z.recrash-profile -o o"}) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 4) << words << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("recrash: error: ")) << words;
  }
  alarm(0);
}

TEST_F(Command, RefusesAnEndlessProfile) {
  WriteBytes(folder_ / "z.recrash-profile", {});
  fs::resize_file(folder_ / "z.recrash-profile", uint64_t{1} << 40);
  const Outcome outcome = Run("profile show z.recrash-profile");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("not a profile: 1099511627776 bytes, of at most 16777216"));
}

TEST_F(Command, GivesCode4WhenTheProgramIsMissing) {
  Store("gone", Crash("/nowhere/gone"));
  const Outcome outcome = Run("reproduce gone");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, StartsWith("recrash: error: "));
  EXPECT_FALSE(fs::exists(folder_ / "gone-tests"));
}

// An escape sequence in a report could rewrite the screen, or the clipboard, of whoever looks at it.
TEST_F(Command, PrintsNothingOfAReportUnescaped) {
  Report report = Crash("/bin/\x1b[2Jx\nrecrash: reproduced: all is well");
  report.process.version = "\x1b]52;c;cHduZWQ=\x07";
  report.failure.signal = SIGABRT;
  report.failure.abort_message =
      "\xc2\x9b"
      "31m\r\x08";
  report.losses = {"lost\x1b[31m"};
  report.inputs = {{{"in\x1b[31m\nrecrash: reproduced: all"}, "/in\x1b", 3, "", InputContent::kTooLarge, {}},
                   {{}, "/held\x1b\r", 1, "", InputContent::kHeld, {1}}};
  report.threads[0].name = "\x1b";
  report.signature = kA;
  Store("hostile", report);
  std::ofstream(store_ + "/.recrash-index") << "chain " << kA << " " << kC << " \x1b[2J\xc2\x9b\r\n";
  for (const char* words : {"list", "list --all", "prune --keep 1", "show", "reproduce", "generate -o d"}) {
    const Outcome outcome = Run(words);
    for (const std::string& text : {outcome.out, outcome.err}) {
      EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << words;
      EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b"))) << words;
      EXPECT_THAT(text, Not(HasSubstr("\r"))) << words;
      EXPECT_THAT(text, Not(HasSubstr("\nrecrash: reproduced: all"))) << words;
    }
  }
  EXPECT_THAT(Run("show").out, HasSubstr("\\x1b[2Jx"));
  for (const char* words : {"list --json -", "show --json -", "show --files --json -"}) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 0) << words << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\\u001b")) << words;
    const auto is_plain = [](char c) { return c == '\n' || (c >= ' ' && c < 0x7f); };
    EXPECT_TRUE(std::ranges::all_of(outcome.out, is_plain)) << words;
  }
}

TEST_F(Command, RunHandsOnWhatTheProgramSaysAndItsStatus) {
  const Outcome outcome = Run("run -- /bin/sh -c 'echo out; echo err >&2; exit 7' --not-ours");
  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
}

TEST_F(Command, RunSaysThatThereIsNoSuchProgram) {
  const Outcome outcome = Run("run -- ./nothing");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.err, "recrash: error: ./nothing: no such program\n");
  EXPECT_EQ(Run("run -- ././nothing").err, "recrash: error: ././nothing: no such program\n");
  EXPECT_THAT(Run("run -- nothing").err, HasSubstr("recrash run -- ./nothing\n"));
  EXPECT_THAT(Run("run -- /tmp").err, HasSubstr("/tmp: needed a program, found a folder\n"));
}

// A program that knows nothing of recrash.
TEST_F(Command, RunKeepsTheCrashOfAPlainProgram) {
  const Outcome outcome = Run("run -o kept -- /bin/sh -c 'kill -SEGV $$'");
  EXPECT_EQ(outcome.code, 128 + SIGSEGV);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("recrash: report: "), HasSubstr("next: recrash reproduce ")));
  EXPECT_THAT(Run("show kept/*.rcr").out, HasSubstr("SIGSEGV"));
}

TEST_F(Command, AWordWithATypingErrorIsNamedWithWhatWasMeant) {
  EXPECT_EQ(Run("reprodce").err,
            "recrash: error: recrash has no command reprodce: is reproduce meant?\n"
            "  `recrash --help` shows what there is\n");
  EXPECT_THAT(Run("reproduce --progam=x").err,
              HasSubstr("recrash reproduce has no option --progam: is --program meant?"));
  EXPECT_THAT(Run("profile shwo x").err, HasSubstr("recrash profile has no command shwo: is show meant?"));
  EXPECT_THAT(Run("compile").err, HasSubstr("recrash has no command compile\n"));
  EXPECT_THAT(Run("show -- x.rcr").err, HasSubstr("only run and debug take words after --"));
  EXPECT_EQ(Run("show -- x.rcr").code, 2);
  EXPECT_THAT(Run("").err, HasSubstr("A subcommand is required"));
  EXPECT_THAT(Run("generate").err, HasSubstr("-o is required"));
}

// Whoever passes a report on must know what is in it.
TEST_F(Command, BundleNamesLogsAndNotes) {
  Report report = Crash("/nowhere/gone");
  report.logs = {{LogKind::kStandardError, "", 9, std::vector<uint8_t>(9, 'x')}};
  report.notes.resize(2);
  Store("logged", report);
  EXPECT_THAT(Run("bundle logged").err, AllOf(HasSubstr("9 bytes of standard error and logs"), HasSubstr("--log\n"),
                                              HasSubstr("2 notes of the program")));
  report.logs = {};
  report.notes = {};
  Store("silent", report);
  EXPECT_THAT(Run("bundle silent").err, AllOf(Not(HasSubstr("of standard error")), Not(HasSubstr("of the program\n"))));
}

TEST_F(Command, VerifyWantsAFolderThatGenerateMade) {
  fs::create_directory(folder_ / "mine");
  const Outcome outcome = Run("verify mine");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("recrash generate"));
}

}  // namespace
}  // namespace recrash::cli
