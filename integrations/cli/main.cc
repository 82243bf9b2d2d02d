// The `recrash` command: options, help and errors of the command line; each subcommand is a file of its own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/cli/commands.h"
#include "integrations/cli/terminal.h"

namespace recrash::cli {
namespace {

constexpr const char* kDescription =
    R"(Turns a crash of a C++ program into GoogleTest cases that fail for the same reason.

  recrash-clang++ -O2 -g x.cpp -o x    build it (or: recrash run -- ./x, for a program as it is)
  ./x                                  it crashes, and says where its report is
  recrash reproduce --program ./x      tests from the newest report of ./x, each seen to fail as the program did
  recrash debug --frame 1              gdb at the entry of a function that was live, with its arguments)";

constexpr const char* kExitCodes =
    R"(Exit codes: 0 at least one test reproduces (or the command did its work), 1 none does, 2 wrong usage,
3 damaged report, 4 something is missing or the machine refuses (the message says which).

Reports are kept in $RECRASH_DIR, else $XDG_STATE_HOME/recrash, else ~/.local/state/recrash. REPORT is a path, or a
name there or the beginning of one.)";

void AddReport(CLI::App* app, ReportArguments* report) {
  app->add_option("REPORT", report->report, "path, name in the store, or its beginning; by default the newest");
  app->add_option("--program", report->program, "the program that crashed (default: where the report says it was)")
      ->type_name("PATH");
  app->add_option("--search-path", report->search_paths, "folder with unstripped twins and libraries; may be repeated")
      ->type_name("DIR");
}

void AddJson(CLI::App* app, std::string* json) {
  app->add_option("--json", *json, "also write the result as JSON (- for standard output)")->type_name("FILE");
}

void AddMaxFrames(CLI::App* app, uint32_t* max_frames, const char* help) {
  app->add_option("--max-frames", *max_frames, help)->type_name("N")->check(CLI::Range(1u, 100000u));
}

void AddVerify(CLI::App* app, VerifyOptionsGiven* options) {
  AddJson(app, &options->json);
  app->add_option("--timeout", options->seconds_per_frame, "seconds that one replay may take (10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  AddMaxFrames(app, &options->max_frames, "replay at most so many, half from each end (200)");
  app->add_option("--runs", options->runs,
                  "replays in which a frame has to reproduce, or it is unstable and gets no test (3)")
      ->type_name("N")
      ->check(CLI::Range(1u, 100u));
  app->add_option("-j,--jobs", options->jobs, "replays at a time (as many as there are processors)")
      ->type_name("N")
      ->check(CLI::Range(1u, 64u));
  static const std::map<std::string, Derive> kDerive = {
      {"needed", Derive::kNeeded}, {"all", Derive::kAll}, {"none", Derive::kNone}};
  app->add_option("--derive", options->derive,
                  "entry states of frames inside one whose state was recorded, taken in its replay: for those that do "
                  "not reproduce otherwise (needed, the default), for all, or for none")
      ->type_name("needed|all|none")
      ->transform(CLI::CheckedTransformer(kDerive, CLI::ignore_case).description(""));
  app->add_flag("!--no-build", options->build, "leave the tests as source, do not build and run them");
  app->add_flag("!--no-same-bases", options->same_bases, "replay with modules elsewhere, as under a debugger");
}

// What stands after `--` belongs to another program and is not looked at.
struct CommandLine {
  std::vector<std::string> before;  // reversed, as CLI11 wants it
  std::vector<std::string> after;
};

CommandLine Split(int argc, char** argv) {
  CommandLine line;
  bool after = false;
  for (int i = 1; i < argc; ++i) {
    if (!after && std::string_view(argv[i]) == "--") {
      after = true;
    } else {
      (after ? line.after : line.before).emplace_back(argv[i]);
    }
  }
  std::ranges::reverse(line.before);
  return line;
}

constexpr const char* kProfileHelp =
    R"(A profile names functions of a program that was built with -recrash-mode=second-chance (or references+second-chance):
the agent watches them from their entry on. A crash of such a program adds the functions that were on its stack to

  $RECRASH_PROFILE                a file, or a folder that holds PROGRAM.recrash-profile; else
  PROGRAM.recrash-profile         beside the program, where that folder may be written

and the next run reads the same file. It is text, a line a function, keyed by build-id and name: a new build finds its
functions by name, for which it needs its symbol table.

  recrash profile add REPORT -o app.recrash-profile     from a crash in the field, with names, for the next release
  recrash profile merge a b -o app.recrash-profile      from several machines
  recrash profile show app.recrash-profile              what is watched, and what it cost where that was counted)";

void AddProfile(CLI::App* app, ProfileArguments* profile, int* code) {
  CLI::App* command = app->add_subcommand("profile", "second chance: which functions are watched from their entry on");
  command->footer(kProfileHelp);
  command->require_subcommand(1);
  CLI::App* show = command->add_subcommand("show", "the functions of a profile, what costs most first");
  show->footer(
      "Of one run: how often a function was entered, how many snapshots were taken there, what these cost in processor "
      "time, and how long a call takes on average; empty where nothing is known.\nExample: recrash profile "
      "show "
      "app.recrash-profile");
  show->add_option("FILE", profile->files, "profile")->required()->expected(1);
  show->callback([=] { *code = ProfileShowCommand(*profile); });
  CLI::App* merge = command->add_subcommand("merge", "several profiles into one");
  merge->footer("Example: recrash profile merge monday.recrash-profile tuesday.recrash-profile -o app.recrash-profile");
  merge->add_option("FILE", profile->files, "profiles")->required();
  merge->add_option("-o", profile->output, "profile to write")->type_name("FILE")->required();
  merge->callback([=] { *code = ProfileMergeCommand(*profile); });
  CLI::App* add = command->add_subcommand("add", "the functions on a crash's stack, added to a profile");
  add->footer(
      "What the profile holds already stays. An inlined function stands for the one that it was inlined "
      "into.\nExample: "
      "recrash profile add --program ./server -o server.recrash-profile");
  AddReport(add, &profile->report);
  add->add_option("-o", profile->output, "profile to write (default: ./PROGRAM.recrash-profile)")->type_name("FILE");
  add->callback([=] { *code = ProfileAddCommand(*profile); });
}

int Main(int argc, char** argv) {
  const CommandLine line = Split(argc, argv);
  CLI::App app(kDescription, "recrash");
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", "recrash " RECRASH_VERSION);
  app.set_help_all_flag("--help-all", "Help on all subcommands");
  int code = kSuccess;

  RunArguments run;
  CLI::App* command = app.add_subcommand("run", "run a program and keep its crash");
  command->footer(
      "Usage:   recrash run [OPTIONS] -- PROGRAM [ARGUMENTS...]\nExample: recrash run -- ./server --port 8080\nThe "
      "exit status is the program's (128 + signal when it dies of "
      "one).\nThe report holds the files that the program was given, up to 4 MiB each (RECRASH_OPTIONS=files=names: "
      "only "
      "what they are called).\nA program built with -recrash-mode=references+second-chance that crashes is run again "
      "with "
      "the functions that were on its stack watched from their entry on, and the command says whether it crashed the "
      "same "
      "way; so it must bear being run twice, and what it reads from standard input must be a file.");
  command->add_flag("--once", run.once,
                    "after a crash, do not run a second-chance build again with the functions of that crash watched");
  command->add_option("-o", run.directory, "folder for the report (default: the store)")->type_name("DIR");
  command->prefix_command();
  command->callback([&, command] {
    run.command = command->remaining();
    run.command.insert(run.command.end(), line.after.begin(), line.after.end());
    code = RunCommand(run);
  });

  ListArguments list;
  command = app.add_subcommand("list", "reports in the store, newest first");
  AddJson(command, &list.json);
  command->callback([&] { code = ListCommand(list); });

  ShowArguments show;
  command = app.add_subcommand("show", "what failed: back-trace, arguments, what the report holds");
  command->footer(
      "Example: recrash show --program ./server\nWithout the program's files: module and offset only.\n"
      "Look at what a report holds, memory and files, before you pass it on.");
  AddReport(command, &show.report);
  AddJson(command, &show.json);
  command->callback([&] { code = ShowCommand(show); });

  GenerateArguments generate;
  command = app.add_subcommand("generate", "candidate tests, one a frame, not yet verified");
  command->footer("Example: recrash generate --program ./server -o crash");
  AddReport(command, &generate.report);
  AddMaxFrames(command, &generate.max_frames, "at most so many candidates, half from each end (200)");
  command->add_option("-o", generate.output, "folder for the tests")->type_name("DIR")->required();
  command->add_flag("--force", generate.force,
                    "use a folder that recrash did not make; what is replaced is kept as FILE.1");
  command->callback([&] { code = GenerateCommand(generate); });

  VerifyArguments verify;
  command = app.add_subcommand("verify", "replay candidates, keep those that reproduce, build them");
  command->footer("Example: recrash verify crash");
  command->add_option("DIR", verify.directory, "folder that `recrash generate` made")->required();
  command->add_option("--program", verify.program, "build to replay against (default: the one they were made for)")
      ->type_name("PATH");
  AddVerify(command, &verify.options);
  command->callback([&] { code = VerifyCommand(verify); });

  ReproduceArguments reproduce;
  command = app.add_subcommand("reproduce", "generate and verify: from a report to tests that fail");
  command->footer("Example: recrash reproduce --program ./server\nThen:    REPORT-tests/build/crash_test");
  AddReport(command, &reproduce.generate.report);
  command->add_option("-o", reproduce.generate.output, "folder for the tests (default: ./REPORT-tests)")
      ->type_name("DIR");
  command->add_flag("--force", reproduce.generate.force,
                    "use a folder that recrash did not make; what is replaced is kept as FILE.1");
  command->add_flag("--rerun", reproduce.rerun,
                    "run the program again, really, on its recorded arguments, environment and files, and start tests "
                    "from the memory that each function had at its entry");
  command
      ->add_option("--rerun-timeout", reproduce.rerun_seconds,
                   "seconds that one such run may take, of two or three (60)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 86400.0));
  AddVerify(command, &reproduce.verify);
  command->callback([&] { code = ReproduceCommand(reproduce); });

  ProfileArguments profile;
  AddProfile(&app, &profile, &code);

  DebugArguments debug;
  command = app.add_subcommand("debug", "gdb at a frame's entry, with its original arguments");
  command->footer("Example: recrash debug --frame 1\nArguments for gdb: recrash debug --frame 1 -- -batch -ex bt");
  command->add_option("TARGET", debug.target, "report or folder of tests; by default the newest report");
  command->add_option("--frame", debug.frame, "number of the frame (0)")->type_name("N");
  command->add_option("--program", debug.program, "the program that crashed, or another build of it")
      ->type_name("PATH");
  command->add_option("--search-path", debug.search_paths, "folder with unstripped twins and libraries")
      ->type_name("DIR");
  command->callback([&] {
    debug.debugger_arguments = line.after;
    code = DebugCommand(debug);
  });

  try {
    std::vector<std::string> words = line.before;
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const auto used = app.get_subcommands();
    return Fail({Errc::kUsage, fmt::format("{}\n`recrash{} --help` shows what there is", error.what(),
                                           used.empty() ? "" : " " + used[0]->get_name())});
  }
  return code;
}

}  // namespace
}  // namespace recrash::cli

int main(int argc, char** argv) { return recrash::cli::Main(argc, argv); }
