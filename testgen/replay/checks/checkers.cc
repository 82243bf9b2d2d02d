#include "testgen/replay/checks/checkers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recrash::replay {
namespace {

constexpr int kFirstDescriptor = 500;                // below may be the dead process's
constexpr char kRuntimeError[] = "runtime error: ";  // of UBSan, behind file, line and column
constexpr char kSetReport[] = "__sanitizer_set_report_fd";

template <typename T>
void Set(T* pointer, void* found) {
  *pointer = reinterpret_cast<T>(found);
}

void AddReportSetter(Checkers* checkers, void* found) {
  Checkers::SetReport* setter = nullptr;
  Set(&setter, found);
  for (int i = 0; i < checkers->set_report_count; ++i) {
    if (checkers->set_report[i] == setter) return;
  }
  if (setter && checkers->set_report_count < kMostReportSetters)
    checkers->set_report[checkers->set_report_count++] = setter;
}

bool IsCheckersLibrary(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  constexpr const char* kStarts[] = {"libasan.so", "libubsan.so", "libclang_rt."};
  for (const char* start : kStarts) {
    if (strncmp(name, start, strlen(start)) == 0) return true;
  }
  return false;
}

}  // namespace

void FindCheckers(Checkers* checkers, FindFunction find) {
  Set(&checkers->has_finding, find("__asan_report_present"));
  Set(&checkers->finding, find("__asan_get_report_description"));
  Set(&checkers->finding_address, find("__asan_get_report_address"));
  Set(&checkers->current_report, find("__ubsan_get_current_report_data"));
  AddReportSetter(checkers, find(kSetReport));
}

void AddCheckersLibrary(Checkers* checkers, const char* path) {
  if (!path || !IsCheckersLibrary(path)) return;
  if (void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD)) AddReportSetter(checkers, dlsym(library, kSetReport));
}

void PrepareReport(Checkers* checkers) {
  if (checkers->set_report_count == 0) return;
  if (checkers->report_fd > 0) close(checkers->report_fd);
  const int file = memfd_create("recrash-finding", MFD_CLOEXEC);
  checkers->report_fd = fcntl(file, F_DUPFD_CLOEXEC, kFirstDescriptor);
  close(file);
}

void RedirectReports(const Checkers& checkers) {
  if (checkers.report_fd <= 0) return;
  for (int i = 0; i < checkers.set_report_count; ++i)
    checkers.set_report[i](reinterpret_cast<void*>(static_cast<uint64_t>(checkers.report_fd)));
}

void ReadAddressFinding(const Checkers& checkers, Finding* finding, uint64_t* address) {
  if (!checkers.has_finding || !checkers.finding || !checkers.has_finding()) return;
  SetFinding(finding, kAddressSanitizer, checkers.finding());
  if (checkers.finding_address) *address = reinterpret_cast<uint64_t>(checkers.finding_address());
}

void ReadUndefined(const Checkers& checkers, Finding* finding) {
  if (!checkers.current_report || IsAny(*finding)) return;
  const char *kind = nullptr, *text = nullptr, *file = nullptr;
  unsigned line = 0, column = 0;
  char* address = nullptr;
  checkers.current_report(&kind, &text, &file, &line, &column, &address);
  SetFinding(finding, kUndefinedSanitizer, text);
  if (finding->text[0] >= 'A' && finding->text[0] <= 'Z') finding->text[0] |= 32;  // as it is printed
}

void ReadReport(const Checkers& checkers, bool show, Finding* finding) {
  if (checkers.report_fd <= 0) return;
  char report[16 << 10];
  const ssize_t size = pread(checkers.report_fd, report, sizeof report - 1, 0);
  if (size <= 0) return;
  report[size] = 0;
  if (show && write(STDERR_FILENO, report, static_cast<size_t>(size)) < 0) return;
  char* found = strstr(report, kRuntimeError);
  if (!found || IsAny(*finding)) return;
  found += strlen(kRuntimeError);
  found[strcspn(found, "\n")] = 0;
  SetFinding(finding, kUndefinedSanitizer, found);
}

}  // namespace recrash::replay
