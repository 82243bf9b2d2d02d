// The client in a plug-in, whose host is not ours: it reports what fails in the plug-in, and nothing else is different.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kPlugin = "load:" RECRASH_TEST_PLUGIN ":EntryOfPlugin";
const std::string kOther = "load:" RECRASH_TEST_OTHER_PLUGIN ":EntryOfOther";

std::string NoteOf(const Report& report) { return report.notes.empty() ? "" : report.notes[0].value; }

struct Way {
  const char* fail;
  int signal;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.fail; }

class PluginFailure : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(All, PluginFailure,
                         testing::Values(Way{"segv", SIGSEGV}, Way{"abort", SIGABRT}, Way{"throw", SIGABRT},
                                         Way{"thread", SIGSEGV}, Way{"overflow", SIGSEGV}, Way{"back", SIGSEGV}),
                         [](const auto& info) { return std::string(info.param.fail); });

TEST_P(PluginFailure, IsReported) {
  const Ran ran = Program::Host({kPlugin, std::string("do:") + GetParam().fail}).Run();
  EXPECT_EQ(ran.outcome(), -GetParam().signal) << ran.errors();
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.signal, GetParam().signal);
  EXPECT_TRUE(report.process.program.ends_with("/host"));
  EXPECT_EQ(NoteOf(report), "the one");
  if (GetParam().fail == std::string("throw")) {
    EXPECT_EQ(report.failure.kind, FailureKind::kException);
    EXPECT_TRUE(report.thrown);
  }
}

TEST_P(PluginFailure, IsReportedInARawReport) {
  const Ran ran =
      Program::Host({kPlugin, std::string("do:") + GetParam().fail}).With("RECRASH_COLLECTOR", "/nonexistent").Run();
  EXPECT_EQ(ran.outcome(), -GetParam().signal) << ran.errors();
  EXPECT_EQ(NoteOf(ran.OnlyReport(".rcraw")), "the one");
}

TEST(Plugin, ReportsAndGoesOn) {
  const Ran ran = Program::Host({kPlugin, "do:report"}).Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_EQ(ran.OnlyReport().failure.reason, "noticed");
}

// The host decides how it ends.
TEST(Plugin, HandsOnToTheHandlerOfItsHost) {
  const Ran ran = Program::Host({"handler", kPlugin, "do:segv"}).Run();
  EXPECT_EQ(ran.outcome(), 42);
  EXPECT_EQ(ran.Files(".rcr").size(), 1u);
}

// What fails without the plug-in is none of its business, before and after it was closed.
TEST(PluginHost, FailsAsWithoutThePlugin) {
  for (const std::vector<std::string>& rest :
       {std::vector<std::string>{"segv"}, {"do:nothing", "segv"}, {"do:nothing", "close", "segv"}}) {
    for (const bool with_handler : {false, true}) {
      std::vector<std::string> words = {kPlugin};
      words.insert(words.end(), rest.begin(), rest.end());
      if (with_handler) words.insert(words.begin(), "handler");
      const Ran ran = Program::Host(words).Run();
      EXPECT_EQ(ran.outcome(), with_handler ? 42 : -SIGSEGV);
      EXPECT_THAT(ran.errors(), IsEmpty());
      EXPECT_THAT(ran.Files(""), IsEmpty());
    }
  }
}

TEST(PluginHost, GoesOnWhenThePluginIsClosed) {
  const Ran ran = Program::Host({kPlugin, "do:nothing", "close", kPlugin, "do:nothing", "close"}).Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_THAT(ran.errors(), IsEmpty());
}

TEST(Plugin, MayBeLoadedByAnyThread) {
  const std::string load = "load-in-thread" + kPlugin.substr(4);
  for (const char* how : {"do:segv", "do:throw", "do:thread"})
    EXPECT_EQ(NoteOf(Program::Host({load, how}).Run().OnlyReport()), "the one") << how;
}

// One client does the work; failures of both are reported, once.
TEST(TwoPlugins, HaveOneReport) {
  const Ran other = Program::Host({kPlugin, kOther, "do:segv"}).Run();
  EXPECT_EQ(NoteOf(other.OnlyReport()), "the other");
  EXPECT_EQ(std::ranges::count(other.errors(), '\n'), 1) << other.errors();
  const Ran host = Program::Host({kPlugin, kOther, "do:nothing", "segv"}).Run();
  EXPECT_THAT(host.Files(""), IsEmpty());
}

TEST(PluginOfAWatchedHost, HandsOnToItsClient) {
  const Ran ran = Program::WatchedHost({kPlugin, "do:nothing", "segv"}).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(NoteOf(ran.OnlyReport()), "the one");
  const Ran preloaded = Program::Host({kPlugin, "do:nothing", "segv"}).Preloaded().Run();
  EXPECT_EQ(NoteOf(preloaded.OnlyReport()), "the one");
}

// The host has a crash reporter of its own.
TEST(PluginHost, WithBreakpadHasBoth) {
  for (const char* callback : {"early", "early-handles"}) {
    const Ran before = Program::Host({kPlugin, "do:segv"})
                           .With("LD_PRELOAD", RECRASH_TEST_BREAKPAD_LIBRARY)
                           .With("BREAKPAD", callback)
                           .Run();
    EXPECT_EQ(before.outcome(), -SIGSEGV);
    EXPECT_EQ(NoteOf(before.OnlyReport()), "the one") << callback;
    EXPECT_THAT(before.errors(), HasSubstr("breakpad: dumped\n"));
  }
  // Later than the plug-in. If the callback handled the crash, Breakpad would reset the signal, and nobody could tell
  // us.
  const std::string library = "load:" RECRASH_TEST_BREAKPAD_LIBRARY ":none";
  const Ran after = Program::Host({kPlugin, "do:nothing", library, kPlugin, "do:segv"}).With("BREAKPAD", "early").Run();
  EXPECT_EQ(NoteOf(after.OnlyReport()), "the one");
  EXPECT_THAT(after.errors(), HasSubstr("breakpad: dumped\n"));
}

// Where it was shipped.
TEST(Plugin, FindsTheCollectorBesideItself) {
  const Ran ran = Program::Host({"load:./plugin.so:EntryOfPlugin", "do:segv"})
                      .Without("RECRASH_COLLECTOR")
                      .After([] {
                        std::error_code problem;
                        namespace fs = std::filesystem;
                        fs::copy_file(RECRASH_TEST_PLUGIN, "plugin.so", problem);
                        fs::copy_file(RECRASH_TEST_COLLECTOR, "recrash-collector", problem);
                        if (problem) _exit(124);
                      })
                      .Run();
  EXPECT_EQ(NoteOf(ran.OnlyReport()), "the one") << ran.errors();
}

}  // namespace
}  // namespace recrash
