// recrash-collector: started by the client in a program that has just failed, with
//
//   recrash-collector PID TID RECORD FOLDER [ABORT_MESSAGE [SNAPSHOTS [PROFILE [MARKED [ADDITIONS]]]]]
//
// RECORD, ABORT_MESSAGE, SNAPSHOTS, MARKED and ADDITIONS are addresses in hex. RECORD 0: the process has not failed
// (recrash dump); the path of the report then goes to standard output. Further arguments, of a newer client, are
// ignored.
//
// Writes FOLDER/NAME.dmp and NAME.rcr, writes the report's path into the client's record, adds the functions on the
// stack to the profile of a second-chance build, and removes reports of which the folder has too many. Prints nothing
// when all is well: the client has a line to print. Exit status: 0 with a report; 1 without, and one line on stderr; 2
// for a wrong command line.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string>

#include "agent/base/own_reports.h"
#include "agent/base/printable_text.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/text.h"
#include "agent/collector/collect.h"
#include "agent/collector/minidump.h"
#include "agent/collector/profile_update.h"
#include "agent/collector/report_name.h"
#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/report/writer.h"
#include "agent/store/retention.h"

namespace recrash {
namespace {

template <typename T>
bool ParseNumber(const char* text, int base, T* value) {
  const char* end = text + std::strlen(text);
  const auto [last, problem] = std::from_chars(text, end, *value, base);
  return problem == std::errc() && last == end;
}

bool ParseArguments(int count, char** arguments, CollectRequest* request) {
  if (count < 5) return false;
  request->folder = arguments[4];
  if (count >= 8) request->profile = arguments[7];
  return ParseNumber(arguments[1], 10, &request->pid) && request->pid > 0 &&
         ParseNumber(arguments[2], 10, &request->tid) && request->tid > 0 &&
         ParseNumber(arguments[3], 16, &request->record.value) && request->folder.starts_with('/') &&
         (count < 6 || ParseNumber(arguments[5], 16, &request->abort_message.value)) &&
         (count < 7 || ParseNumber(arguments[6], 16, &request->snapshots.value)) &&
         (count < 9 || ParseNumber(arguments[8], 16, &request->marked.value)) &&
         (count < 10 || ParseNumber(arguments[9], 16, &request->additions.value));
}

// This process has inherited the program's signals and descriptors. If a standard descriptor is closed, a file that is
// opened here would get its number, and messages would be written into that file.
void LeaveProgramBehind() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);  // a full disk shall be an error
  for (int descriptor = open("/dev/null", O_RDWR); descriptor >= 0 && descriptor <= 2;) descriptor = dup(descriptor);
  close_range(3, ~0u, 0);
  umask(0077);
}

int Fail(const Error& error) {
  fprintf(stderr, "recrash-collector: error: %s", PrintableLines(error.message).c_str());
  return 1;
}

// Errors are ignored: a client that is gone cannot be told.
void TellClient(const CollectRequest& request, const std::string& path) {
  if (request.record.value == 0) {  // `recrash dump` reads it
    puts(path.c_str());
    return;
  }
  Result<TargetMemory> memory = TargetMemory::Open(request.pid);
  if (!memory || path.size() >= sizeof abi::CrashRecord::report_path) return;
  memory->Write(request.record + offsetof(abi::CrashRecord, report_path),
                {reinterpret_cast<const uint8_t*>(path.c_str()), path.size() + 1});
}

// What the folder holds beyond its limits goes. If another collector does that already, this one need not.
void KeepFolderSmall(const CollectRequest& request, const Report& report, const std::string& path) {
  const signal_safe::Options options = signal_safe::ParseOptions(report.process.options.c_str(), [](const char*) {});
  const Result<Retained> retained = Retain(request.folder, {LimitsOf(options), BaseName(path)});
  if (!retained && retained.error().code != Errc::kTaken) Fail(retained.error());
}

std::string MinidumpPath(const std::string& report) { return report.substr(0, report.rfind('.')) + ".dmp"; }

// Before the report, which tells if it could not be written.
void WriteMinidumpBeside(const std::string& path, Collected* collected) {
  if (collected->minidump.empty()) return;
  const Status status = Fails("minidump_file") ? Error{Errc::kRefused, path + ": it was to fail"}
                                               : WriteMinidump(MinidumpPath(path), collected->minidump);
  if (!status) {
    const std::string& why = status.error().message;
    collected->report.losses.push_back("no minidump: " + why.substr(0, why.find('\n')));
  }
}

// Writes the minidump, too. Returns the report's path.
Result<std::string> WriteNewReport(const std::string& folder, Collected* collected) {
  const Report& report = collected->report;
  const Process& process = report.process;
  Result<OutputFile> file =
      NewReport(folder, ReportBaseName(process.program, process.crashed_at / 1000000000, process.pid));
  if (!file) return file.error();
  if (collected->later) file->WriteThrough();
  std::string path = file->path();
  WriteMinidumpBeside(path, collected);
  const Status status = Fails("disk") && report.memory_complete
                            ? Error{Errc::kRefused, path + ": it was to fail"}
                            : WriteReport(report, *std::move(file), collected->later.get());
  if (!status) {
    unlink(MinidumpPath(path).c_str());
    return status.error();
  }
  return path;
}

int Run(const CollectRequest& request) {
  Result<Collected> collected = Collect(request);
  if (!collected) return Fail(collected.error());
  Result<std::string> path = WriteNewReport(request.folder, &*collected);
  collected->later.reset();
  if (!path) {
    KeepInnermostFrames(path.error(), &*collected);
    path = WriteNewReport(request.folder, &*collected);
  }
  if (!path) return Fail(path.error());
  // The client gives this process no environment.
  NoteOwnReport(*path, ReadProcFile(request.pid, "environ"));
  TellClient(request, *path);
  if (Status status = UpdateProfile(collected->report, request.profile); !status) Fail(status.error());
  KeepFolderSmall(request, collected->report, *path);
  return 0;
}

}  // namespace
}  // namespace recrash

int main(int count, char** arguments) {
  recrash::CollectRequest request;
  if (!recrash::ParseArguments(count, arguments, &request)) {
    fprintf(stderr,
            "recrash-collector: started by a program that was built with recrash, not by hand\n"
            "  usage: recrash-collector PID TID RECORD FOLDER [ABORT_MESSAGE [SNAPSHOTS [PROFILE [MARKED "
            "[ADDITIONS]]]]]\n");
    return 2;
  }
  recrash::LeaveProgramBehind();
  return recrash::Run(request);
}
