// recrash-collector: started by the client in a program that has just failed, with
//
//   recrash-collector PID TID RECORD FOLDER [ABORT_MESSAGE [SNAPSHOTS [PROFILE]]]
//
// (RECORD, ABORT_MESSAGE, SNAPSHOTS: addresses in hex; what a newer client says beyond that is not for this collector)
//
// Writes FOLDER/NAME.rcr, tells the client its path by writing it into the record, then writes NAME.dmp, and adds the
// functions that were on the stack to the profile of a second-chance build. Quiet when all
// is well: the client has a line to say. Exit status 0 when there is a report, 1 with one line on stderr when there is
// none, 2 for a wrong command line.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string>

#include "agent/collector/collect.h"
#include "agent/collector/minidump.h"
#include "agent/collector/profile_update.h"
#include "agent/collector/report_name.h"
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
         (count < 7 || ParseNumber(arguments[6], 16, &request->snapshots.value));
}

// The program's signals and descriptors came along. A closed standard descriptor would become a file of ours, and a
// message would then be written into it.
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
  fprintf(stderr, "recrash-collector: error: %s\n", error.message.c_str());
  return 1;
}

// Best effort: a client that has gone has nobody left to tell.
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
  TellClient(request, *path + ".rcr");
  if (Status status = WriteMinidump(*path + ".dmp", collected->record); !status) Fail(status.error());
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
            "  usage: recrash-collector PID TID RECORD FOLDER [ABORT_MESSAGE [SNAPSHOTS [PROFILE]]]\n");
    return 2;
  }
  recrash::LeaveProgramBehind();
  return recrash::Run(request);
}
