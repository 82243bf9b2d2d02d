#include "agent/collector/report_name.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "agent/base/signal_safe/trusted_place.h"
#include "agent/base/text.h"

namespace recrash {
namespace {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '+' || c == '.';
}

Status MakeFolder(const std::string& folder) {
  for (size_t slash = folder.find('/', 1); slash != folder.npos; slash = folder.find('/', slash + 1))
    mkdir(folder.substr(0, slash).c_str(), 0700);
  constexpr char kWayOut[] = "\n  RECRASH_DIR names the folder that reports are written to";
  struct stat status;
  if (mkdir(folder.c_str(), 0700) != 0 && (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)))
    return Error{Errc::kRefused, folder + ": cannot be made: " + std::strerror(errno) + kWayOut};
  // A report of a place that another user controls could be replaced or, made there beforehand, read.
  if (const char* why = signal_safe::WhyNotTrustedFolder(folder.c_str()))
    return Error{Errc::kRefused, folder + ": no report is written there: it " + why + kWayOut};
  return Ok{};
}

}  // namespace

std::string ReportBaseName(const std::string& program, int64_t unix_seconds, int32_t pid) {
  std::string name = BaseName(program);
  if (name.ends_with(" (deleted)")) name.resize(name.size() - strlen(" (deleted)"));
  name = name.substr(0, 120);
  for (char& c : name) {
    if (!IsPlain(c)) c = '_';
  }
  if (name.starts_with('.')) name[0] = '_';
  if (name.empty()) name = "program";
  const time_t seconds = unix_seconds;
  tm utc = {};
  gmtime_r(&seconds, &utc);
  char time_text[32];
  strftime(time_text, sizeof time_text, "%Y%m%d-%H%M%S", &utc);
  return name + "-" + time_text + "-" + std::to_string(pid);
}

Result<OutputFile> NewReport(const std::string& folder, const std::string& base_name) {
  if (Status status = MakeFolder(folder); !status) return status.error();
  const std::string path = folder + "/" + base_name;
  for (int number = 1; number < 10000; ++number) {
    const std::string candidate = number == 1 ? path : path + "-" + std::to_string(number);
    Result<OutputFile> file = OutputFile::CreateNew(candidate + ".rcr");
    if (file || file.error().code != Errc::kTaken) return file;
  }
  return Error{Errc::kRefused, path + ".rcr: ten thousand reports of this name are there already"};
}

}  // namespace recrash
