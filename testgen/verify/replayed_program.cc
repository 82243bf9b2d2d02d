#include "testgen/verify/replayed_program.h"

#include <stdlib.h>

#include <iostream>

namespace recrash {

ReplayedProgram::ReplayedProgram(const std::string& source, const std::string& flags,
                                 const std::vector<std::string>& arguments, const std::string& mode)
    : fixture_(source, Monitored(flags, mode)), report_(fixture_.Crash(arguments)) {
  const Backtrace backtrace = MustRead(report_);
  Result<ReplayData> data = MakeReplayData(report_, backtrace, {});
  if (!data) {
    std::cerr << data.error().message << std::endl;
    abort();
  }
  report_.replay = std::move(*data);
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
    for (const ReplayFrame& frame : report_.replay->frames) {
      if (frame.index == (*verdicts)[i].index && frame.function.starts_with(function)) return (*verdicts)[i];
    }
  }
  text_ += "no frame of " + function;
  return {};
}

std::string VerdictText(const Report& report, const std::vector<FrameVerdict>& verdicts) {
  static const char* const kNames[] = {"cannot replay", "reproduced", "different failure",
                                       "returned",      "exited",     "timed out"};
  std::string text;
  for (const FrameVerdict& verdict : verdicts) {
    for (const ReplayFrame& frame : report.replay->frames) {
      if (frame.index != verdict.index) continue;
      text += "#" + std::to_string(frame.index) + " " + frame.function + ": " +
              kNames[static_cast<uint32_t>(verdict.verdict)] + " (depth " + std::to_string(verdict.depth) + ", " +
              std::to_string(verdict.seconds * 1000) + " ms) " + verdict.note + "\n";
    }
  }
  return text;
}

}  // namespace recrash
