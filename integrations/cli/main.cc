// The `recrash` command: options, help and errors of the command line; each subcommand is a file of its own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/cli/commands.h"
#include "integrations/cli/terminal.h"
#include "integrations/terminal/suggestion.h"

namespace recrash::cli {
namespace {

constexpr const char* kDescription =
    R"(Turns a crash of a C++ program into GoogleTest cases that fail for the same reason.

  recrash-clang++ -O2 -g x.cpp -o x    build the program (to keep its build as it is: recrash run -- ./x)
  ./x                                  it crashes, and names the report that it has written
  recrash reproduce --program ./x      make tests from the newest report of ./x, and see each of them fail
  recrash debug --frame 1              start gdb where function 1 of the stack is called, with its arguments)";

constexpr const char* kExitCodes =
    R"(Exit codes:
  0  the command did its work; of reproduce and verify: at least one test reproduces the crash
  1  no test reproduces the crash
  2  wrong usage
  3  the report is damaged, or was written by a newer recrash
  4  something is missing, or the machine refuses; the message says what

Reports are kept in the store: $RECRASH_DIR, else $XDG_STATE_HOME/recrash, else ~/.local/state/recrash.
REPORT is a path, also of a bundle (.zip), a name in the store, or the beginning of one. The default is the newest
report.)";

constexpr const char* kRunHelp =
    R"(Usage:   recrash run [OPTIONS] -- PROGRAM [ARGUMENTS...]
Example: recrash run -- ./server --port 8080

The exit status is the program's, or 128 + signal when a signal ended it.

The report holds the files that the program was given, up to 4 MiB each. To keep only their names, set
RECRASH_OPTIONS=files=names.

A program that crashes is kept, by its build-id, so that `recrash reproduce` works after the next build has taken its
place. So is one that left a report in the store, when recrash-clang++ links it anew. At most 32 programs, of 1 GiB
together, are kept, in $XDG_CACHE_HOME/recrash/programs, else ~/.cache/recrash/programs. RECRASH_KEEP_PROGRAMS=0 turns that off. Libraries of its own are not kept.

A program that was built with -recrash-mode=references+second-chance and crashes is run a second time. In that run
recrash watches the functions that were on the stack, so that tests can start from the memory that each of them had
when it was called. So the program must be one that may run twice, and its standard input must be a file. --once
prevents the second run.)";

constexpr const char* kListHelp =
    R"(One line a crash: how many reports there were of it, when the first and the last crash was, its newest report. Reports
are of the same crash if they have the same signature: the failure and its stack, by build-ids and offsets. Once `recrash
show` or `recrash reproduce` has seen a report together with its program's debug information, recrash knows what the stack
is in the source. Then reports of other builds and machines are in the same line, too, if one of each was shown.

Reports that are gone by now (recrash prune) are counted. --all lists each report that is there.

Example: recrash list)";

constexpr const char* kPruneHelp =
    R"(Removes reports from the store, with their minidumps. Without a rule these are the collector's, after each crash:
those of RECRASH_OPTIONS=keep=3,store=128,days=365. If a rule is given, only that one counts.

Only reports that still have the name that recrash gave them are removed. To keep one, rename it, or move it elsewhere.

Example: recrash prune --dry-run
         recrash prune --older-than 30
         recrash prune --keep 1 --max-size 500)";

constexpr const char* kShowHelp =
    R"(Example: recrash show --program ./server

Without the program's files, frames are shown as module and offset.
A report holds memory and files of the program: look at it before you pass it on.)";

constexpr const char* kRedactHelp =
    R"(Pages that hold nothing else are left out: a replay finds nothing there. In other pages, and on the stack, stars stand
in the place of what was taken out. Names of files and folders stay. The rest is as it was, so frames that do not need
what is gone still reproduce. The minidump beside REPORT (.dmp) is not changed: do not pass it on.

--frames takes the numbers of `recrash show`: 4-6 are three frames, 9- is frame 9 and all outside it. Their stack memory,
registers, arguments and tests go. Addresses stay, so that frames outside are found. Copies that
a frame handed on stay: in frames inside it, in the heap, and in what the agent kept of registers.

--to-tests replays each test and keeps the pages of memory that it touches, the data of modules, and the files that it
reads. All tests reproduce afterwards, or the report stays as it is. A page that is kept may have private things beside
what the tests need. crash_test.cc, which has values too, is not changed.

Example: recrash show --env --strings, then recrash redact --env --strings @example.com -o to-send.rcr
         recrash redact crash-tests --to-tests --env)";

constexpr const char* kBundleHelp =
    R"(Writes one .zip for a bug report, and prints a title and a text to paste. The .zip holds the report, the minidump
beside it, and a README.md with what happened and the commands that reproduce it. It never replaces a file.

Trackers limit attachments: GitHub to 25 MB, GitLab to 10 MB, Bugzilla to 1 MB, as they are installed. With --for or
--max-size the minidump is left out if the bundle would be larger otherwise.

A report holds memory of the program, and the minidump its stacks. So look at the bundle before you pass it on: what is
in it is listed on standard error. The text has no values of the program but those that the failure itself names, and ~
in place of home folders.

Example: recrash bundle --program ./server --for gitlab
         recrash redact --env --strings @example.com -o clean.rcr, then recrash bundle clean.rcr
Whoever gets it:  recrash reproduce server-20261118-110640-42.zip --program ./server)";

constexpr const char* kSendHelp =
    R"(Sends minidump and report to a server that speaks the protocol of Breakpad: Crashpad's, Sentry, Socorro, Backtrace,
BugSplat. It is one POST of multipart/form-data: the minidump is the file upload_file_minidump, the report the attachment
recrash_report, and prod, ver and guid are fields. It prints what the server answers, mostly an id.

Nothing is sent unless this command is run. It says first what goes to whom, and asks. Without a terminal it needs --yes.
The URL is shown without user, path and key. A redirect is not followed, and a certificate has to be trusted.

Example: recrash send --url 'https://o0.ingest.sentry.io/api/0/minidump/?sentry_key=KEY' \
           --field 'sentry[release]=server@1.2.3')";

constexpr const char* kGenerateHelp =
    R"(Writes a test for each frame that can be called again, without trying one. `recrash verify` tries them.

Example: recrash generate --program ./server -o crash)";

constexpr const char* kVerifyHelp =
    R"(Calls each function on the stack again, in a process of its own, keeps the tests that fail as the program did, and
builds these. With --program NEW-BUILD it says what becomes of the crash there, and leaves the tests as they are.

With --fixed BUILD it runs the built tests against a build in which the bug is gone. Tests that turned green stay
enabled: they are the regression suite. The others become DISABLED_, each with its reason. It ends with 0 if a test
turned green, and with 1 if none did.

Example: recrash verify crash
         recrash verify crash --fixed ./server
         recrash verify crash --fixed ./server --twin ./server-twin)";

constexpr const char* kReproduceHelp =
    R"(generate and verify in one: from a report to tests that were seen to fail.

Example: recrash reproduce --program ./server
Then:    REPORT-tests/build/crash_test

A replay runs code of the program on data of the report, in a sandbox. --rerun runs the program without a sandbox: on
a report from elsewhere it shows command, environment and files first, and asks.)";

constexpr const char* kDebugHelp =
    R"(Runs the test of the frame in the debugger and stops at the first line of the frame's function. From there the program
does what it did, in the sandbox that tests have: it changes no files, and files opened for writing are /dev/null.
--no-sandbox goes without.

If the report has no tests yet, makes them first.

Example:                    recrash debug --frame 1
Every local, in the twin:   recrash debug --frame 1 --twin ./server-twin
Arguments for the debugger: recrash debug --frame 1 -- -batch -ex bt)";

constexpr const char* kWhyHelp =
    R"(Replays the failure, as often as needed, and follows the value that made it fail backwards: from the failing
instruction, or from the call that threw, aborted or failed an assertion, through registers, memory, arguments and
returned values to where it was made. A constant leads on to the condition that chose it. Each line is what a replay
did; nothing is guessed.

What is replayed begins with the call of the outermost frame that reproduces. If its memory at that time is not known,
the memory of the crash stands for it, and what had changed until then is not seen. --rerun runs the program once more and
takes that memory.

Example:                 recrash why
With the whole past:     recrash why --rerun
A folder of tests:       recrash why server-1-tests
A page to look at:       recrash why --html why.html
For scripts:             recrash why --json -)";

constexpr const char* kMinimiseHelp =
    R"(Which part of its memory makes a call fail: recrash replays the call with other bytes in the place of blocks, globals,
registers and the callers' stack, then of words, then of bytes, and keeps what it cannot do without. So all else may be
anything, and the call still fails by the same signal, at the same place, of the same address.

Each word that is left is a culprit or context. Of a culprit a replay has shown that the call returns with something else
there and all else as it was. Context is needed to come to the failing place; or no other value was found that helps:
in place of a null pointer, say, stood bytes that are no address.

The result holds for bytes of 0xa5, zeros and random bytes. At the end it is tried with five others, and the result says
how many agree. Freed blocks keep the links of malloc. Data of the system's libraries, malloc's own, and memory that the
program maps itself stay as they are.

Example: recrash minimise --program ./server
         recrash minimise crash-tests --frame 2)";

constexpr const char* kProfileHelp =
    R"(A profile names the functions that a program built with -recrash-mode=second-chance (or references+second-chance)
watches from their entry on. A crash of such a program adds the functions of its stack to the profile:

  $RECRASH_PROFILE                a file, or a folder that holds PROGRAM.recrash-profile; else
  PROGRAM.recrash-profile         beside the program, if that folder can be written

The next run reads the same file. It is text, a line a function, with build-id and name. A new build finds its functions
by name, for which it needs its symbol table.

  recrash profile add REPORT -o app.recrash-profile     add the functions of a crash in the field, for the next release
  recrash profile merge a b -o app.recrash-profile      join the profiles of several machines
  recrash profile show app.recrash-profile              show what is watched, and what that cost)";

constexpr const char* kDumpHelp =
    R"(Makes a report of a process that hangs, say, with the stacks of all threads. They stand still while it is read, for
some milliseconds, and go on. The process need not have been built with recrash. What it has marked as sensitive is masked.

You need permission to trace it: your own processes, unless /proc/sys/kernel/yama/ptrace_scope forbids; root may all.

Example: recrash dump $(pidof server) && recrash show)";

constexpr const char* kProfileShowHelp =
    R"(Shows for each function, of one run: how often it was entered, how many snapshots were taken there, what these cost in
processor time, and how long a call takes on average. A field is empty where nothing is known.

Example: recrash profile show app.recrash-profile)";

constexpr const char* kProfileMergeHelp =
    R"(Example: recrash profile merge monday.recrash-profile tuesday.recrash-profile -o app.recrash-profile)";

constexpr const char* kProfileAddHelp =
    R"(Functions that are in the profile already stay. For an inlined function, the function around it is added.

Example: recrash profile add --program ./server -o server.recrash-profile)";

CLI::App* AddCommand(CLI::App* app, const char* name, const char* description, const char* help) {
  CLI::App* command = app->add_subcommand(name, description);
  command->footer(help);
  return command;
}

void AddTwin(CLI::App* app, std::string* twin) {
  app->add_option("--twin", *twin, "the same sources built without inlining (-O0 -g)")->type_name("PATH");
}

void AddProgram(CLI::App* app, std::string* program, const char* help) {
  app->add_option("--program", *program, help)->type_name("PATH");
}

void AddReport(CLI::App* app, ReportArguments* report) {
  app->add_option("REPORT", report->report,
                  "path of a report or bundle, name in the store, or its beginning (default: the newest)");
  AddProgram(app, &report->program, "the program that crashed (default: where the report says it was)");
  app->add_option("--search-path", report->search_paths, "folder with unstripped files and libraries; may be repeated")
      ->type_name("DIR");
}

void AddJson(CLI::App* app, std::string* json) {
  app->add_option("--json", *json, "also write the result as JSON (-: to standard output)")->type_name("FILE");
}

void AddMaxFrames(CLI::App* app, Request* request) {
  app->add_option("--max-frames", request->max_frames, "try at most N frames, half from each end of the stack (200)")
      ->type_name("N")
      ->check(CLI::Range(1u, 100000u));
}

CLI::Option* AddFolder(CLI::App* app, Request* request) {
  app->add_flag("--force", request->force,
                "use the folder even if recrash did not make it; a file that is replaced is kept as FILE.1");
  app->add_flag("!--no-format", request->format,
                "leave the source as recrash writes it, if a .clang-format lies in the folder or above it");
  return app->add_option("-o", request->folder, "folder for the tests (default: ./REPORT-tests)")->type_name("DIR");
}

void AddTrust(CLI::App* app, Request* request) {
  app->add_flag("--trust-report", request->trust_report,
                "run code that the report names or holds, wherever it lies, as of a report that you wrote yourself");
  app->add_flag("!--no-sandbox", request->sandbox, "let replays do all that you may do");
}

void AddReplay(CLI::App* app, Request* request) {
  AddTrust(app, request);
  AddMaxFrames(app, request);
  app->add_option("--timeout", request->seconds_per_frame, "seconds that one replay may take (10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  app->add_option("--runs", request->runs,
                  "replays in which a frame must reproduce to get a test; else it is called unstable (3)")
      ->type_name("N")
      ->check(CLI::Range(1u, 100u));
  app->add_option("-j,--jobs", request->jobs, "replays at a time (default: as many as there are processors)")
      ->type_name("N")
      ->check(CLI::Range(1u, 64u));
  static const std::map<std::string, Derive> kDerive = {
      {"needed", Derive::kNeeded}, {"all", Derive::kAll}, {"none", Derive::kNone}};
  app->add_option("--derive", request->derive,
                  "derive the entry state of a frame from a replay of a recorded caller: if the frame does not "
                  "reproduce otherwise (needed, the default), always (all), or never (none)")
      ->type_name("needed|all|none")
      ->transform(CLI::CheckedTransformer(kDerive, CLI::ignore_case).description(""));
  app->add_flag_callback(
      "--no-build", [=] { request->goal = Goal::kSource; }, "leave the tests as source: do not build and run them");
  app->add_flag("!--no-same-bases", request->same_bases, "replay with modules at other addresses, as a debugger does");
}

// What stands after `--` belongs to another program and is not looked at.
struct CommandLine {
  std::vector<std::string> before;  // reversed, as CLI11 wants it
  std::vector<std::string> after;
};

CommandLine Split(int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv + 1, end, std::string_view("--"));
  CommandLine line = {{argv + 1, dashes}, {dashes == end ? end : dashes + 1, end}};
  std::ranges::reverse(line.before);
  return line;
}

// Everything that options are read into, and what the subcommand returned.
struct Invocation {
  CommandLine line;
  int code = kSuccess;
  RunArguments run;
  DumpArguments dump;
  ListArguments list;
  PruneArguments prune;
  ShowArguments show;
  RedactArguments redact;
  BundleArguments bundle;
  SendArguments send;
  TestsArguments generate, verify, reproduce;
  bool rerun = false;
  RerunRequest rerun_request;
  ProfileArguments profile;
  DebugArguments debug;
  WhyArguments why;
  MinimiseArguments minimise;
};

void AddRun(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "run", "run a program and keep its crash", kRunHelp);
  command->add_flag("--once", to->run.once, "do not run a program again that was built for second chance");
  command->add_option("-o", to->run.directory, "folder for the report (default: the store)")->type_name("DIR");
  command->prefix_command();
  command->callback([=] {
    to->run.command = command->remaining();
    to->run.command.insert(to->run.command.end(), to->line.after.begin(), to->line.after.end());
    to->code = RunCommand(to->run);
  });
}

void AddDump(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "dump", "report where a running process is", kDumpHelp);
  command->add_option("PID", to->dump.pid, "the process")->required()->check(CLI::Range(1, INT32_MAX));
  command->add_option("--thread", to->dump.thread, "the thread whose stack comes first (default: the main thread)")
      ->type_name("TID")
      ->check(CLI::Range(1, INT32_MAX));
  command->add_option("-o", to->dump.directory, "folder for the report (default: the store)")->type_name("DIR");
  command->callback([=] { to->code = DumpCommand(to->dump); });
}

void AddList(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "list", "list the crashes in the store, newest first", kListHelp);
  command->add_flag("--all", to->list.all, "list each report");
  AddJson(command, &to->list.json);
  command->callback([=] { to->code = ListCommand(to->list); });
}

void AddPrune(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "prune", "remove old reports from the store", kPruneHelp);
  const auto add = [&](const char* name, uint64_t* value, const char* type, const char* help) {
    command->add_option(name, *value, help)->type_name(type)->check(CLI::Range(uint64_t{1}, uint64_t{UINT32_MAX}));
  };
  add("--older-than", &to->prune.days, "DAYS", "remove reports that were written so many days ago, or before");
  add("--keep", &to->prune.keep, "N", "remove all but the newest N reports of each crash");
  add("--max-size", &to->prune.mib, "MiB", "remove the oldest reports while all take more than this");
  command->add_flag("--dry-run", to->prune.dry_run, "say what would be removed, and remove nothing");
  AddJson(command, &to->prune.json);
  command->callback([=] { to->code = PruneCommand(to->prune); });
}

void AddShow(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "show", "show what failed: stack, arguments, what the report holds", kShowHelp);
  AddReport(command, &to->show.report);
  AddJson(command, &to->show.json);
  command->add_flag("--strings", to->show.strings, "list the texts in its memory, of six characters or more, instead");
  command->add_flag("--env", to->show.environment, "list the environment of the program instead");
  command->add_flag("--files", to->show.files,
                    "list the files that were open, named or attached, and whether it holds them, instead");
  command->add_flag("--log", to->show.log,
                    "print the end of standard error and of logs that the program names, instead");
  command->add_option("--save", to->show.save, "write the files that it holds, and logs, into DIR, a new folder")
      ->type_name("DIR");
  command->callback([=] { to->code = to->show.lists() ? HoldingsCommand(to->show) : ShowCommand(to->show); });
}

void AddRedact(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "redact", "take private things out of a report", kRedactHelp);
  AddReport(command, &to->redact.report);
  command->add_option("-o", to->redact.output, "report to write, a new file; with --to-tests not needed")
      ->type_name("FILE");
  command->add_flag("--to-tests", to->redact.to_tests,
                    "REPORT is a folder of tests: take out of its crash_test.rcr all that the tests do not need");
  command->add_option("--frames", to->redact.frames, "take out these frames of the stack, as in 2,4-6,9-")
      ->type_name("LIST");
  command->add_flag("--env", to->redact.environment, "take out the environment");
  command->add_flag("--files", to->redact.files, "take out the contents of files; their names stay");
  command->add_flag("--logs", to->redact.logs, "take out standard error and logs; their names stay");
  command->add_flag("--notes", to->redact.notes, "take out the program's notes");
  command->add_option("--strings", to->redact.texts, "take out each text that has TEXT in it; may be repeated")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->callback([=] { to->code = RedactCommand(to->redact); });
}

void AddBundle(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "bundle", "make one .zip for a bug report, and a text to paste", kBundleHelp);
  AddReport(command, &to->bundle.report);
  command->add_option("-o", to->bundle.output, "file to write, a new one (default: ./REPORT.zip)")
      ->type_name("FILE.zip");
  command->add_flag("!--no-minidump", to->bundle.minidump, "leave the minidump out");
  CLI::Option* tracker = command->add_option("--for", to->bundle.tracker, "stay below what this tracker takes")
                             ->type_name("github|gitlab|bugzilla")
                             ->check(CLI::IsMember({"github", "gitlab", "bugzilla"}).description(""));
  command->add_option("--max-size", to->bundle.max_size, "stay below this size, as in 5MB")
      ->type_name("SIZE")
      ->excludes(tracker);
  command->callback([=] { to->code = BundleCommand(to->bundle); });
}

void AddSend(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "send", "send a crash to a server, by the protocol of Breakpad", kSendHelp);
  SendArguments* send = &to->send;
  AddReport(command, &send->report);
  command->add_option("--url", send->url, "address of the server that takes crashes")->type_name("URL")->required();
  command->add_option("--field", send->fields, "one more field of the form, or another value; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("!--no-minidump", send->minidump, "send the report alone");
  command->add_flag("!--no-report", send->with_report, "send the minidump alone");
  command->add_flag("--yes", send->without_asking, "send it without asking");
  command->add_option("--timeout", send->seconds, "seconds that all of it may take (300)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 86400.0));
  command->add_option("--ca-file", send->ca_file, "PEM file of the authorities to trust (default: the system's)")
      ->type_name("FILE")
      ->check(CLI::ExistingFile.description(""));
  command->callback([=] { to->code = SendCommand(*send); });
}

void AddGenerate(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "generate", "write candidate tests, one a frame, not yet tried", kGenerateHelp);
  Request& request = to->generate.request;
  request.goal = Goal::kCandidates;
  AddReport(command, &to->generate.report);
  AddMaxFrames(command, &request);
  AddTrust(command, &request);
  AddFolder(command, &request)->required();
  command->callback([=] { to->code = GenerateCommand(to->generate); });
}

void AddVerify(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "verify", "try candidate tests, keep those that reproduce", kVerifyHelp);
  Request& request = to->verify.request;
  command->add_option("DIR", request.folder, "folder that `recrash generate` made")->required();
  AddProgram(command, &request.program, "build to try them with (default: the one they were made for)");
  command->add_option("--fixed", to->verify.fixed, "build in which the bug is gone: keep the tests that turned green")
      ->type_name("PROGRAM")
      ->check(CLI::ExistingFile);
  AddTwin(command, &request.twin);
  AddJson(command, &to->verify.json);
  AddReplay(command, &request);
  command->callback([=] { to->code = VerifyCommand(to->verify); });
}

void AddRerun(CLI::App* command, Invocation* to) {
  command->add_flag("--rerun", to->rerun,
                    "run the program again, on its recorded arguments, environment and files, and start tests from the "
                    "memory that each function had at its entry");
  command
      ->add_option("--rerun-in", to->rerun_request.folder,
                   "--rerun in this folder, with the files that are there; they may change (default: a temporary "
                   "folder, with copies of what the command line names)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory.description(""));
  command->add_flag("--yes", to->rerun_request.without_asking,
                    "run it without asking, also if the report came from elsewhere");
  command
      ->add_option("--rerun-timeout", to->rerun_request.seconds,
                   "seconds that one of these two or three runs may take (60)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 86400.0));
}

std::optional<RerunRequest> RerunOf(const Invocation& to) {
  return to.rerun || !to.rerun_request.folder.empty() ? std::optional(to.rerun_request) : std::nullopt;
}

void AddReproduce(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "reproduce", "make tests from a report, and see each fail", kReproduceHelp);
  Request& request = to->reproduce.request;
  AddReport(command, &to->reproduce.report);
  AddFolder(command, &request);
  AddTwin(command, &request.twin);
  command->add_flag("!--no-inputs", request.inputs,
                    "leave out input files that the report does not hold, though they are as at the crash");
  AddRerun(command, to);
  AddJson(command, &to->reproduce.json);
  AddReplay(command, &request);
  command->callback([=] {
    to->reproduce.request.rerun = RerunOf(*to);
    to->code = ReproduceCommand(to->reproduce);
  });
}

void AddProfile(CLI::App* app, Invocation* to) {
  CLI::App* command =
      AddCommand(app, "profile", "second chance: which functions are watched from their entry on", kProfileHelp);
  command->require_subcommand(1);
  ProfileArguments* profile = &to->profile;
  CLI::App* show = AddCommand(command, "show", "the functions of a profile, costliest first", kProfileShowHelp);
  show->add_option("FILE", profile->files, "profile")->required()->expected(1);
  show->callback([=] { to->code = ProfileShowCommand(*profile); });
  CLI::App* merge = AddCommand(command, "merge", "join several profiles", kProfileMergeHelp);
  merge->add_option("FILE", profile->files, "profiles")->required();
  merge->add_option("-o", profile->output, "profile to write")->type_name("FILE")->required();
  merge->callback([=] { to->code = ProfileMergeCommand(*profile); });
  CLI::App* add = AddCommand(command, "add", "add the functions of a crash's stack to a profile", kProfileAddHelp);
  AddReport(add, &profile->report);
  add->add_option("-o", profile->output, "profile to write (default: ./PROGRAM.recrash-profile)")->type_name("FILE");
  add->callback([=] { to->code = ProfileAddCommand(*profile); });
}

void AddDebug(CLI::App* app, Invocation* to) {
  CLI::App* command =
      AddCommand(app, "debug", "start a debugger at a frame's entry, with its original arguments", kDebugHelp);
  AddReport(command, &to->debug.target);
  command->get_option("REPORT")->description("report or folder of tests (default: the newest report)");
  AddTrust(command, &to->debug.request);
  command->add_option("--debugger", to->debug.debugger, "which one (gdb)")
      ->type_name("gdb|lldb")
      ->check(CLI::IsMember({"gdb", "lldb"}).description(""));
  command->add_option("--frame", to->debug.frame, "number of the frame (0)")->type_name("N");
  AddTwin(command, &to->debug.request.twin);
  command->callback([=] {
    to->debug.debugger_arguments = to->line.after;
    to->code = DebugCommand(to->debug);
  });
}

void AddWhy(CLI::App* app, Invocation* to) {
  CLI::App* command = AddCommand(app, "why", "find where the value that made it fail comes from", kWhyHelp);
  AddReport(command, &to->why.target);
  command->get_option("REPORT")->description("report or folder of tests (default: the newest report)");
  AddJson(command, &to->why.json);
  command->add_option("--html", to->why.html, "also write a page to look at (-: to standard output)")
      ->type_name("FILE");
  command
      ->add_option("--sarif", to->why.sarif,
                   "also write it as SARIF, for editors and code scanning (-: to standard output)")
      ->type_name("FILE");
  AddTrust(command, &to->why.request);
  command->add_option("--frame", to->why.frame, "frame to replay (default: the outermost one that reproduces)")
      ->type_name("N");
  command->add_flag("--all", to->why.all, "each step, also several in one line of the source");
  command->add_option("--seconds", to->why.seconds, "how long to look (20)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  AddRerun(command, to);
  command->callback([=] {
    to->why.request.rerun = RerunOf(*to);
    to->code = WhyCommand(to->why);
  });
}

void AddMinimise(CLI::App* app, Invocation* to) {
  CLI::App* command =
      AddCommand(app, "minimise", "find by experiment which words of memory make a call fail", kMinimiseHelp);
  MinimiseArguments* minimise = &to->minimise;
  AddReport(command, &minimise->target);
  command->get_option("REPORT")->description("report or folder of tests (default: the newest report)");
  AddTrust(command, &minimise->request);
  command
      ->add_option("--frame", minimise->frame,
                   "number of the frame (default: the innermost of the program's own sources)")
      ->type_name("N")
      ->check(CLI::Range(0, INT32_MAX));
  command->add_option("--timeout", minimise->seconds, "seconds after which the search ends (10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  command->add_option("--seed", minimise->seed, "of the random bytes (1)")->type_name("N");
  AddJson(command, &minimise->json);
  command->callback([=] { to->code = MinimiseCommand(*minimise); });
}

// The innermost command that the words name.
const CLI::App* CommandOf(const CLI::App* command) {
  while (!command->get_subcommands().empty()) command = command->get_subcommands()[0];
  return command;
}

// "recrash profile show".
std::string WordsOf(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return (parent ? WordsOf(*parent) + " " : "") + command.get_name();
}

// A command that has commands takes no other words. `words`: of the command line, in their order.
std::string UnknownWord(const CLI::App& command, const std::vector<std::string>& words,
                        const std::vector<std::string>& known) {
  const bool has_commands = !command.get_subcommands({}).empty();
  auto word = std::ranges::find(words, command.get_name());
  for (word = word == words.end() ? words.begin() : word + 1; word != words.end(); ++word) {
    const std::string name = word->substr(0, word->find('='));
    if ((has_commands || name.starts_with("--")) && std::ranges::find(known, name) == known.end()) return name;
  }
  return "";
}

// What is wrong with the words of the command line, which CLI11 does not take.
Error UsageError(const CLI::App& command, std::vector<std::string> words, const CLI::ParseError& error) {
  const std::string help = fmt::format("\n`{} --help` shows what there is", WordsOf(command));
  std::vector<std::string> known;
  for (const CLI::App* each : command.get_subcommands({})) known.push_back(each->get_name());
  const bool has_commands = !known.empty();
  for (const CLI::Option* each : command.get_options())
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  std::ranges::reverse(words);
  // Any other error is about words that are known.
  const bool has_unknown = has_commands || error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const std::string unknown = has_unknown ? UnknownWord(command, words, known) : "";
  if (unknown.empty()) return {Errc::kUsage, error.what() + help};
  const std::string nearest = Nearest(unknown, known);
  return {Errc::kUsage,
          fmt::format("{} has no {} {}{}{}", WordsOf(command), unknown.starts_with("-") ? "option" : "command", unknown,
                      nearest.empty() ? "" : fmt::format(": is {} meant?", nearest), help)};
}

int Main(int argc, char** argv) {
  Invocation invocation;
  invocation.line = Split(argc, argv);
  CLI::App app(kDescription, "recrash");
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", "recrash " RECRASH_VERSION);
  app.set_help_all_flag("--help-all", "help on all subcommands");
  for (const auto add : {AddRun, AddDump, AddList, AddPrune, AddShow, AddRedact, AddBundle, AddSend, AddGenerate,
                         AddVerify, AddReproduce, AddWhy, AddMinimise, AddProfile, AddDebug})
    add(&app, &invocation);
  // To leave them out in silence would do the command's work on another report.
  const CommandLine& line = invocation.line;
  if (!line.after.empty() && (line.before.empty() || (line.before.back() != "run" && line.before.back() != "debug")))
    return Fail({Errc::kUsage, "only run and debug take words after --\n`recrash --help` shows what there is"});
  try {
    std::vector<std::string> words = invocation.line.before;
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Fail(UsageError(*CommandOf(&app), invocation.line.before, error));
  }
  return invocation.code;
}

}  // namespace
}  // namespace recrash::cli

int main(int argc, char** argv) { return recrash::cli::Main(argc, argv); }
