#include "testgen/verify/testing_replayed_program.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "agent/base/signal_safe/left_out.h"
#include "agent/report/reader.h"

namespace recrash {
namespace {

[[noreturn]] void Die(const std::string& why) {
  std::cerr << why << std::endl;
  abort();
}

// As recrash-clang++ does it.
std::string WithAgent(const std::string& flags, const std::string& mode) {
  return Monitored(flags + " -pthread -Wl,-u,__recrash_client_anchor -Xlinker " RECRASH_TEST_CLIENT, mode);
}

}  // namespace

ReplayedProgram::ReplayedProgram(const std::string& source, const std::string& flags,
                                 const std::vector<std::string>& arguments, const std::string& mode,
                                 const std::string& options, const std::string& before)
    : fixture_(source, WithAgent(flags, mode)), report_{Crash(arguments, options, before), {}} {
  Result<Symbols> symbols = Symbols::Open(report_, {});
  if (!symbols) Die(symbols.error().message);
  report_.replay = MakeReplayData(MustRead(report_, *symbols), *symbols);
}

Report ReplayedProgram::Crash(const std::vector<std::string>& arguments, const std::string& options,
                              const std::string& before) {
  std::string command = "RECRASH_OPTIONS='" + options + "' RECRASH_DIR=" + fixture_.folder() +
                        " RECRASH_COLLECTOR=" RECRASH_TEST_COLLECTOR " " + fixture_.path();
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  // Descriptor 3 is the log of a ctest that may run; its offset moves on.
  fixture_.Run("cd " + fixture_.folder() + " && " + before + " && (exec 3</dev/null; " + command +
               ") >output 2>&1; true");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixture_.folder())) {
    if (entry.path().extension() != ".rcr") continue;
    Result<Report> report = ReadReport(entry.path().string());
    if (!report) Die(report.error().message);
    reported_.push_back(std::move(*report));
  }
  if (reported_.empty()) Die("the program left no report");
  std::ranges::sort(reported_, {}, [](const Report& report) { return report.process.crashed_at; });
  Report last = std::move(reported_.back());
  reported_.pop_back();
  return last;
}

// Named by its own folder, so that compile_once compiles it: a rebuilt program is another file, though of the same
// source.
std::string ReplayedProgram::Rebuild(const std::string& source, const std::string& flags) {
  const std::string folder = fixture_.path("rebuilt");
  fixture_.Run("mkdir -p " + folder);
  fixture_.Write("rebuilt/program.cc", source);  // the same name: symbols of locals carry it
  const std::string path = folder + "/program";
  fixture_.Run(RECRASH_TEST_CXX " " + WithAgent(flags, "references") + " " + folder + "/program.cc -o " + path);
  return path;
}

Result<std::vector<FrameVerdict>> ReplayedProgram::VerifyAll(const VerifyOptions& given) const {
  VerifyOptions options = given;
  if (options.program.empty()) options.program = fixture_.path();
  if (options.support_directory.empty()) options.support_directory = RECRASH_TEST_SUPPORT_DIRECTORY;
  return VerifyFrames(report_, options, nullptr);
}

FrameVerdict ReplayedProgram::Verify(const std::string& function, const VerifyOptions& options) const {
  const Result<std::vector<FrameVerdict>> verdicts = VerifyAll(options);
  if (!verdicts) {
    text_ = verdicts.error().message;
    FrameVerdict none;
    none.note = text_;
    return none;
  }
  text_ = VerdictText(report_, *verdicts);
  for (size_t i = 0; i < verdicts->size(); ++i) {
    for (const ReplayFrame& frame : report_.replay.frames) {
      if (frame.index == (*verdicts)[i].index && frame.function.starts_with(function)) return (*verdicts)[i];
    }
  }
  text_ += "no frame of " + function;
  return {};
}

void ReplayedProgram::AsAnotherUser(const std::function<void()>& check) const {
  if (geteuid() != 0) return check();
  constexpr uid_t kNobody = 65534;
  chmod(fixture_.folder().c_str(), 0755);
  const pid_t child = fork();
  if (child == 0) {
    const bool changed = setgid(kNobody) == 0 && setuid(kNobody) == 0;
    check();
    _exit(changed && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "as another user";
}

std::string VerdictText(const TestReport& report, const std::vector<FrameVerdict>& verdicts) {
  std::string text = "recorded in " + report.replay.place.function + "\n";
  for (const FrameVerdict& verdict : verdicts) {
    for (const ReplayFrame& frame : report.replay.frames) {
      if (frame.index != verdict.index) continue;
      text += "#" + std::to_string(frame.index) + " " + frame.function + ": " + VerdictText(verdict.verdict) +
              " (depth " + std::to_string(verdict.start.depth) + (verdict.start.rewind ? ", rewound" : "") +
              (verdict.start.from_entry ? ", entry state, " : ", ") +
              (verdict.self_contained() ? "self-contained, " : "") + std::to_string(verdict.seconds * 1000) + " ms) " +
              verdict.note + "\n";
    }
  }
  return text;
}

LeaveOut::LeaveOut(const std::string& remedies) {
  setenv("RECRASH_WITHOUT", remedies.c_str(), 1);
  strncpy(g_left_out, remedies.c_str(), sizeof g_left_out - 1);
}

LeaveOut::~LeaveOut() {
  unsetenv("RECRASH_WITHOUT");
  g_left_out[0] = 0;
}

}  // namespace recrash
