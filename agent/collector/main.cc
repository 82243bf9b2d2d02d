// recrash-collector: started by the client in a program that has just failed, with
//
//   recrash-collector PID TID RECORD FOLDER [ABORT_MESSAGE [SNAPSHOTS [PROFILE [MARKED]]]]
//
// RECORD, ABORT_MESSAGE, SNAPSHOTS and MARKED are addresses in hex. Further arguments, of a newer client, are ignored.
//
// Writes FOLDER/NAME.rcr, writes its path into the client's record, then writes NAME.dmp, and adds the functions on the
// stack to the profile of a second-chance build. Prints nothing when all is well: the client has a line to print. Exit
// status: 0 with a report; 1 without, and one line on stderr; 2 for a wrong command line.
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
#include "agent/collector/collect.h"
#include "agent/collector/minidump.h"
#include "agent/collector/profile_update.h"
#include "agent/collector/report_name.h"
#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/report/writer.h"

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
         (count < 9 || ParseNumber(arguments[8], 16, &request->marked.value));
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
  Result<TargetMemory> memory = TargetMemory::Open(request.pid);
  if (!memory || path.size() >= sizeof abi::CrashRecord::report_path) return;
  memory->Write(request.record + offsetof(abi::CrashRecord, report_path),
                {reinterpret_cast<const uint8_t*>(path.c_str()), path.size() + 1});
}

int Run(const CollectRequest& request) {
  Result<Collected> collected = Collect(request);
  if (!collected) return Fail(collected.error());
  const Process& process = collected->report.process;
  Result<std::string> path =
      NewReportPath(request.folder, ReportBaseName(process.program, process.crashed_at / 1000000000, process.pid));
  if (!path) return Fail(path.error());
  if (Status status = WriteReport(collected->report, *path + ".rcr"); !status) return Fail(status.error());
  // The client gives this process no environment.
  NoteOwnReport(*path + ".rcr", ReadProcFile(request.pid, "environ"));
  TellClient(request, *path + ".rcr");
  // It consists of stacks, environment and the like.
  if (collected->record.without_memory == 0)
    if (Status status = WriteMinidump(*path + ".dmp", *collected); !status) Fail(status.error());
  if (Status status = UpdateProfile(collected->report, request.profile); !status) Fail(status.error());
  return 0;
}

}  // namespace
}  // namespace recrash

int main(int count, char** arguments) {
  recrash::CollectRequest request;
  if (!recrash::ParseArguments(count, arguments, &request)) {
    fprintf(stderr,
            "recrash-collector: started by a program that was built with recrash, not by hand\n"
            "  usage: recrash-collector PID TID RECORD FOLDER [ABORT_MESSAGE [SNAPSHOTS [PROFILE [MARKED]]]]\n");
    return 2;
  }
  recrash::LeaveProgramBehind();
  return recrash::Run(request);
}
