// recrash generate: candidates from a report.
#include <fmt/format.h>

#include <algorithm>

#include "agent/report/entry_states.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/emit.h"
#include "testgen/emit/failure_text.h"
#include "testgen/suite/pipeline.h"
#include "testgen/verify/choose.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

Error NoCandidates(const Material& material) {
  std::string why;
  for (const Frame& frame : material.backtrace.frames)
    if (frame.own && !frame.inlined && !frame.why_not.empty() && why.empty())
      why = fmt::format("frame {} ({}): {}", frame.index, frame.function, frame.why_not);
  if (why.empty()) why = "none of its frames lies in the program's own code";
  return {Errc::kMissing,
          fmt::format("{}: needed a frame that can be called again, found none: {}\n"
                      "build the program with recrash-clang++ (or with -g, so that debug information has arguments)",
                      material.name, why)};
}

std::vector<ReplayFrame> Chosen(const std::vector<ReplayFrame>& frames, uint32_t most) {
  std::vector<ReplayFrame> chosen;
  for (const uint32_t position : ChooseFrames(frames.size(), most)) chosen.push_back(frames[position]);
  return chosen;
}

}  // namespace

Result<Suite> MakeSuite(const GenerateArguments& arguments) {
  Result<Material> loaded = LoadMaterial(arguments.report, arguments.max_frames);
  if (!loaded) return loaded.error();
  Material& material = *loaded;
  Result<ReplayData> replay = MakeReplayData(material.report, material.backtrace, material.symbols);
  if (!replay) return replay.error();
  if (replay->frames.empty()) return NoCandidates(material);
  std::ranges::sort(replay->frames, {}, &ReplayFrame::index);
  replay->frames = Chosen(replay->frames, arguments.max_frames);

  Suite suite;
  suite.directory = arguments.output.empty() ? fs::path(material.name + "-tests") : fs::path(arguments.output);
  suite.report_path = fs::absolute(material.path).lexically_normal();
  suite.report_bytes = FileSize(material.path);
  suite.report_name = material.name;
  const std::string& program =
      arguments.report.program.empty() ? material.report.process.program : arguments.report.program;
  suite.program = fs::absolute(program).lexically_normal();
  for (const std::string& path : arguments.report.search_paths)
    suite.symbols.search_paths.push_back(fs::absolute(path).lexically_normal());
  suite.symbols.program = suite.program;
  suite.symbols.max_candidates = material.symbols.max_candidates;
  suite.report = std::move(material.report);
  suite.report.replay = *std::move(replay);
  suite.report.replay->entry_states = EntryStatesFromSnapshots(suite.report, suite.report.replay->frames);
  suite.report.snapshots.reset();  // beside the tests lies what they need
  suite.backtrace = std::move(material.backtrace);
  suite.failure = FailureText(suite.report, suite.backtrace);

  if (const Status status = PrepareDirectory(suite.directory, arguments.force); !status) return status.error();
  for (const std::string& note : suite.backtrace.notes) Note(note);
  return suite;
}

Status WriteCandidates(const Suite& suite) {
  EmitOptions tests;
  tests.report_name = suite.report_name;
  for (const ReplayFrame& frame : ChooseTests(suite.report.replay->frames)) {
    tests.frames.push_back(frame.index);
    tests.depths.push_back(frame.depth);
    tests.rewound.push_back(frame.rewound);
    tests.entry_states.push_back(frame.entry_state);
  }
  return WriteSuite(suite, tests);
}

int GenerateCommand(const GenerateArguments& arguments) {
  const Result<Suite> suite = MakeSuite(arguments);
  if (!suite) return Fail(suite.error());
  if (const Status status = WriteCandidates(*suite); !status) return Fail(status.error());
  const size_t count = suite->report.replay->frames.size();
  const size_t tests = ChooseTests(suite->report.replay->frames).size();
  fmt::print("recrash: {} candidate{} in {}{}\n  not verified yet: recrash verify {}\n", count, count == 1 ? "" : "s",
             (suite->directory / "crash_test.cc").string(),
             tests < count ? fmt::format("; of a recursion {} are written out, a few of each function", tests) : "",
             suite->directory.string());
  return kSuccess;
}

}  // namespace recrash::cli
