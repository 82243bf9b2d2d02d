// recrash generate: candidates from a report.
#include <fmt/format.h>

#include <algorithm>

#include "integrations/cli/commands.h"
#include "integrations/cli/pipeline.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/emit.h"
#include "testgen/emit/failure_text.h"

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

}  // namespace

Result<Suite> Generate(const GenerateArguments& arguments) {
  Result<Material> loaded = LoadMaterial(arguments.report);
  if (!loaded) return loaded.error();
  Material& material = *loaded;
  Result<ReplayData> replay = MakeReplayData(material.report, material.backtrace, material.symbols);
  if (!replay) return replay.error();
  if (replay->frames.empty()) return NoCandidates(material);

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
  suite.report = std::move(material.report);
  suite.report.replay = *std::move(replay);
  suite.backtrace = std::move(material.backtrace);
  suite.failure = FailureText(suite.report, suite.backtrace);
  std::ranges::sort(suite.report.replay->frames, {}, &ReplayFrame::index);

  if (const Status status = PrepareDirectory(suite.directory, arguments.force); !status) return status.error();
  EmitOptions tests;
  tests.report_name = suite.report_name;
  for (const ReplayFrame& frame : suite.report.replay->frames) {
    tests.frames.push_back(frame.index);
    tests.depths.push_back(frame.depth);
    tests.rewound.push_back(frame.rewound);
  }
  if (const Status status = WriteSuite(suite, tests); !status) return status.error();
  for (const std::string& note : suite.backtrace.notes) Note(note);
  return suite;
}

int GenerateCommand(const GenerateArguments& arguments) {
  const Result<Suite> suite = Generate(arguments);
  if (!suite) return Fail(suite.error());
  const size_t count = suite->report.replay->frames.size();
  fmt::print("recrash: {} candidate{} in {}\n  not verified yet: recrash verify {}\n", count, count == 1 ? "" : "s",
             (suite->directory / "crash_test.cc").string(), suite->directory.string());
  return kSuccess;
}

}  // namespace recrash::cli
