// Writes the raw report: the process writes what it can read of itself, in the layout of raw_format.h.
//
// Signal-safe: system calls and static buffers. Memory is copied by process_vm_readv on the process itself, which stops
// at what cannot be read where a plain copy would fault.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/memory_maps.h"
#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/text.h"
#include "agent/base/signal_safe/trusted_place.h"
#include "agent/client/client.h"
#include "shadowstack/raw_format.h"

namespace recrash::client {
namespace {

using namespace signal_safe;
using raw::BlockKind;

constexpr uint64_t kBuffer = 64 << 10;
// Beside what is written: of a marked value that goes on there, all but one byte may lie there.
constexpr uint64_t kBeside = 8;
alignas(4096) char g_around[kBeside + kBuffer + kBeside];
char* const g_buffer = g_around + kBeside;

// The file; after the first failed write nothing more is written.
struct RawFileOut {
  int fd;
  bool failed;
  int folder;  // it lies in
  const Discretion& discretion;
};

RECRASH_SIGNAL_SAFE void Put(RawFileOut& out, const void* data, uint64_t size) {
  const char* at = static_cast<const char*>(data);
  while (size != 0 && !out.failed) {
    const ssize_t wrote = write(out.fd, at, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      out.failed = true;
      return;
    }
    at += wrote;
    size -= static_cast<uint64_t>(wrote);
  }
}

// In pieces, each with what is beside it.
RECRASH_SIGNAL_SAFE void PutMasked(RawFileOut& out, const void* data, uint64_t size) {
  if (!out.discretion.has_values()) return Put(out, data, size);
  static char piece[kBeside + 4096 + kBeside];
  for (uint64_t at = 0; at < size;) {
    const uint64_t before = at < kBeside ? at : kBeside;
    const uint64_t written = size - at < 4096 ? size - at : 4096;
    const uint64_t after = size - at - written < kBeside ? size - at - written : kBeside;
    memcpy(piece, static_cast<const char*>(data) + at - before, before + written + after);
    out.discretion.Mask(piece, before + written + after);
    Put(out, piece + before, written);
    at += written;
  }
}

RECRASH_SIGNAL_SAFE void PutBlock(RawFileOut& out, BlockKind kind, const void* head, uint64_t head_size,
                                  const void* data, uint64_t size) {
  const raw::RawBlock block = {kind, 0, head_size + size};
  Put(out, &block, sizeof block);
  PutMasked(out, head, head_size);
  PutMasked(out, data, size);
}

RECRASH_SIGNAL_SAFE void PutFile(RawFileOut& out, BlockKind kind, const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t size;
  while ((size = read(fd, g_buffer, kBuffer)) > 0)
    PutBlock(out, kind, nullptr, 0, g_buffer, static_cast<uint64_t>(size));
  close(fd);
}

RECRASH_SIGNAL_SAFE void PutLink(RawFileOut& out, BlockKind kind, const char* path) {
  const ssize_t size = readlink(path, g_buffer, kBuffer);
  if (size > 0) PutBlock(out, kind, nullptr, 0, g_buffer, static_cast<uint64_t>(size));
}

// Reads from `address` into g_buffer; returns how many bytes could be read.
RECRASH_SIGNAL_SAFE uint64_t ReadSelf(uint64_t address, uint64_t size) {
  return ReadOwn(address, g_buffer, size < kBuffer ? size : kBuffer);
}

// The same, and masks what is marked.
RECRASH_SIGNAL_SAFE uint64_t ReadSelfMasked(const Discretion& discretion, uint64_t address, uint64_t size) {
  const uint64_t got = ReadSelf(address, size);
  if (got == 0 || !discretion.has_values()) return got;
  memset(g_around, 0, kBeside);
  memset(g_buffer + got, 0, kBeside);
  ReadOwn(address - kBeside, g_around, kBeside);
  ReadOwn(address + got, g_buffer + got, kBeside);
  discretion.Mask(g_around, kBeside + got + kBeside);
  discretion.MaskPlaces(address, g_buffer, got);
  return got;
}

RECRASH_SIGNAL_SAFE void PutModuleHeads(RawFileOut& out) {
  MapLines lines;
  for (Map map; lines.Next(map);) {
    if (!map.readable || !map.file || map.offset != 0) continue;
    const uint64_t size = ReadSelf(map.start, kPage);
    if (size < 64 || memcmp(g_buffer, "\177ELF", 4) != 0) continue;
    const raw::RawMemory head = {map.start};
    PutBlock(out, BlockKind::kModuleHead, &head, sizeof head, g_buffer, size);
  }
}

// Where PAGEMAP_SCAN is missing, pagemap is read page by page, and mappings that are larger than this are left out.
constexpr uint64_t kMostRead = uint64_t{1} << 34;

// Finds runs of present pages, each at most one buffer long.
class PresentPages {
 public:
  RECRASH_SIGNAL_SAFE PresentPages() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  RECRASH_SIGNAL_SAFE ~PresentPages() {
    if (fd_ >= 0) close(fd_);
  }

  // Finds the first run in [at, end); returns false if there is none. `whole`: all pages count as present, as those of
  // a file do, which reading brings in.
  RECRASH_SIGNAL_SAFE bool Next(uint64_t at, uint64_t end, bool whole, uint64_t& run, uint64_t& run_end) const {
    run = at;
    run_end = end;
    if (at >= end) return false;
    if (!whole && !Scan(run, run_end) && !ReadEntries(run, run_end)) return false;
    if (run_end - run > kBuffer) run_end = run + kBuffer;
    return run < run_end;
  }

 private:
  RECRASH_SIGNAL_SAFE bool Scan(uint64_t& run, uint64_t& run_end) const {
    ScanRegion region = {};
    uint64_t at = run;
    const long found = ScanPages(fd_, at, run_end, &region, 1);
    if (found < 0) return false;
    run = found == 0 ? run_end : region.start;
    if (found != 0) run_end = region.end;
    return true;
  }

  RECRASH_SIGNAL_SAFE bool ReadEntries(uint64_t& run, uint64_t& run_end) const {
    if (run_end - run > kMostRead) return false;
    uint64_t entries[64];
    bool inside = false;
    const uint64_t end = run_end;
    for (uint64_t at = run; at < end;) {
      const ssize_t got = pread(fd_, entries, sizeof entries, static_cast<off_t>(at / kPage * sizeof entries[0]));
      if (got <= 0) return false;
      for (uint64_t i = 0; i < static_cast<uint64_t>(got) / sizeof entries[0] && at < end; ++i, at += kPage) {
        const bool present = entries[i] >> 62 != 0;
        if (present && !inside) run = at;
        if (!present && inside) {
          run_end = at;
          return true;
        }
        inside = present;
      }
    }
    if (!inside) run = end;
    return true;
  }

  int fd_;
};

RECRASH_SIGNAL_SAFE void PutMap(RawFileOut& out, const Map& map, const PresentPages& pages, uint64_t& budget,
                                bool whole, bool always) {
  uint64_t run, end;
  for (uint64_t at = map.start; !out.failed && pages.Next(at, map.end, whole, run, end);) {
    if (!always && budget < end - run) return;
    const uint64_t size = ReadSelfMasked(out.discretion, run, end - run);
    if (size != 0) {
      const raw::RawMemory head = {run};
      PutBlock(out, BlockKind::kMemory, &head, sizeof head, g_buffer, size);
      if (!always) budget -= size;
    }
    at = size == end - run ? end : run + size / kPage * kPage + kPage;
  }
}

// Writes program and library data and the failing stack, then the rest up to the limit, lowest address (the heap)
// first. What the program excludes from core dumps is left out.
RECRASH_SIGNAL_SAFE void PutMemory(RawFileOut& out) {
  const uint64_t sp = static_cast<uint64_t>(g_record.context.uc_mcontext.gregs[REG_RSP]);
  uint64_t budget = uint64_t{g_state.options.memory_mib} << 20;
  MapLines lines("/proc/self/smaps");
  PresentPages pages;
  for (Map map; lines.NextWithFlags(map);) {
    if (!map.readable || !map.writable || map.shared) continue;
    if (map.not_dumped) {
      const raw::RawRange range = {map.start, map.end};
      PutBlock(out, BlockKind::kWithheld, &range, sizeof range, nullptr, 0);
      continue;
    }
    const bool failing_stack = sp + kPage >= map.start && sp < map.end;
    // A mapping larger than the limit is no library's, but data.
    const bool library = map.file && map.end - map.start <= (uint64_t{g_state.options.memory_mib} << 20);
    PutMap(out, map, pages, budget, library, library || failing_stack);
  }
}

RECRASH_SIGNAL_SAFE void PutProcess(RawFileOut& out) {
  raw::RawProcess process = {};
  asm("movq %%fs:0, %0" : "=r"(process.fs_base));  // the thread control block begins with its own address
  process.brk_end = static_cast<uint64_t>(syscall(SYS_brk, 0));
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) == 0) process.stack_limit = limit.rlim_cur;
  process.realtime_ns = static_cast<int64_t>(Nanoseconds(CLOCK_REALTIME));
  PutBlock(out, BlockKind::kProcess, nullptr, 0, &process, sizeof process);
}

RECRASH_SIGNAL_SAFE void PutThrow(RawFileOut& out, BlockKind kind, const abi::ThrowRecord& thrown) {
  PutBlock(out, kind, &thrown, sizeof thrown, reinterpret_cast<const void*>(thrown.stack_copy),
           g_record.without_memory == 0 ? thrown.stack_size : 0);
}

RECRASH_SIGNAL_SAFE void PutThrows(RawFileOut& out) {
  const auto* thrown = reinterpret_cast<const abi::ThrowRecord*>(g_record.throw_record);
  if (thrown == nullptr) return;
  PutThrow(out, BlockKind::kThrow, *thrown);
  if (g_record.has_replaced != 0) PutThrow(out, BlockKind::kReplaced, thrown[1]);
}

// glibc's struct abort_msg_s: size, then the text.
RECRASH_SIGNAL_SAFE void PutAbortMessage(RawFileOut& out) {
  if (g_state.abort_message == nullptr) return;
  uint64_t message;
  memcpy(&message, g_state.abort_message, sizeof message);
  if (message == 0) return;
  const uint64_t size = ReadSelf(message, kPage);
  if (size > 4) PutBlock(out, BlockKind::kAbortMessage, nullptr, 0, g_buffer + 4, strnlen(g_buffer + 4, size - 4));
}

RECRASH_SIGNAL_SAFE void PutThread(RawFileOut& out) {
  raw::RawThread thread = {};
  thread.id = g_record.tid;
  thread.failing = 1;
  prctl(PR_GET_NAME, thread.name, 0, 0, 0);
  PutBlock(out, BlockKind::kThread, nullptr, 0, &thread, sizeof thread);
}

RECRASH_SIGNAL_SAFE void PutDescriptor(RawFileOut& out, int descriptor) {
  raw::RawFile file = {};
  file.descriptor = descriptor;
  file.flags = fcntl(descriptor, F_GETFL);
  const off_t offset = lseek(descriptor, 0, SEEK_CUR);
  file.offset = offset > 0 ? static_cast<uint64_t>(offset) : 0;
  struct stat status;
  if (fstat(descriptor, &status) == 0) {
    file.mode = status.st_mode;
    file.size = static_cast<uint64_t>(status.st_size);
  }
  char link[64];
  (Text(link) << "/proc/self/fd/").Decimal(static_cast<uint64_t>(descriptor));
  static char path[4096];
  const ssize_t length = readlink(link, path, sizeof path);
  if (length > 0) PutBlock(out, BlockKind::kFile, &file, sizeof file, path, static_cast<uint64_t>(length));
}

RECRASH_SIGNAL_SAFE void PutDescriptors(RawFileOut& out) {
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(8) static char entries[4096];
  long size;
  while ((size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
      const char* digits = entry->d_name;
      const int descriptor = static_cast<int>(ReadNumber(digits, 10));
      if (descriptor != folder && descriptor != out.fd && descriptor != out.folder) PutDescriptor(out, descriptor);
    }
  }
  close(folder);
}

// Days since 1970 to a date, by the 400-year cycle of the calendar; gmtime may take locks and read files.
RECRASH_SIGNAL_SAFE void PutUtc(Text& text, int64_t seconds) {
  const int64_t days = seconds / 86400 + 719468;
  const int64_t era = days / 146097;
  const uint64_t day_of_era = static_cast<uint64_t>(days - era * 146097);
  const uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint64_t month = (5 * day_of_year + 2) / 153;  // from March
  const uint64_t day = day_of_year - (153 * month + 2) / 5 + 1;
  const uint64_t calendar_month = month < 10 ? month + 3 : month - 9;
  const uint64_t year = year_of_era + static_cast<uint64_t>(era) * 400 + (calendar_month <= 2 ? 1 : 0);
  const uint64_t time = static_cast<uint64_t>(seconds % 86400);
  text.Decimal(year, 4).Decimal(calendar_month, 2).Decimal(day, 2) << "-";
  text.Decimal(time / 3600, 2).Decimal(time / 60 % 60, 2).Decimal(time % 60, 2);
}

// Makes the report folder and what leads to it, mode 0700.
RECRASH_SIGNAL_SAFE void MakeDirectories(const char* path) {
  static char part[1024];
  CopyText(part, path);
  for (char* at = part + 1; *at != 0; ++at) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(part, 0700);
    *at = '/';
  }
  mkdir(part, 0700);
}

// Opens the report folder; negative where it must not or cannot be written to, and `why` says which.
RECRASH_SIGNAL_SAFE int OpenReportFolder(const char*& why) {
  MakeDirectories(g_state.directory);
  why = WhyNotTrustedFolder(g_state.directory);
  if (why != nullptr) return -1;
  const int folder = open(g_state.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  if (folder < 0 || fstat(folder, &status) != 0)
    why = "cannot be opened";
  else
    why = WhyNotTrusted(status);  // of what was opened: the name may lead elsewhere since
  if (why == nullptr) return folder;
  if (folder >= 0) close(folder);
  return -1;
}

// Nobody can tell the name of a raw report before, and put a file there.
RECRASH_SIGNAL_SAFE uint32_t RandomNumber() {
  uint32_t number = 0;
  // Where the kernel has none to give, O_EXCL alone has to do.
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<uint32_t>(Nanoseconds(CLOCK_MONOTONIC));
  return number;
}

// Program, UTC time, pid, a random number. Of the program's name only letters, digits, `-`, `_`, `.`, `+` stay.
RECRASH_SIGNAL_SAFE void ReportName(char (&out)[256], uint32_t random, const char* suffix) {
  Text text(out);
  static char name[128];
  CopyText(name, ProgramName());
  for (char* c = name; *c != 0; ++c) {
    const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' ||
                       *c == '+' || *c == '-' || (*c == '.' && c != name);
    if (!plain) *c = '_';
  }
  text << (name[0] != 0 ? name : "program") << "-";
  PutUtc(text, static_cast<int64_t>(Nanoseconds(CLOCK_REALTIME) / 1000000000));
  text << "-";
  text.Decimal(static_cast<uint64_t>(g_record.pid)) << "-";
  text.Hex(random) << suffix;
}

RECRASH_SIGNAL_SAFE void PutAll(RawFileOut& out) {
  const raw::RawHeader header = {raw::kMagic, raw::kVersion, sizeof(raw::RawHeader)};
  Put(out, &header, sizeof header);
  PutBlock(out, BlockKind::kRecord, nullptr, 0, &g_record, sizeof g_record);
  PutProcess(out);
  PutThrows(out);
  PutAbortMessage(out);
  PutThread(out);
  PutLink(out, BlockKind::kExecutable, "/proc/self/exe");
  PutLink(out, BlockKind::kDirectory, "/proc/self/cwd");
  PutFile(out, BlockKind::kCommandLine, "/proc/self/cmdline");
  PutFile(out, BlockKind::kStat, "/proc/self/stat");
  PutFile(out, BlockKind::kMaps, "/proc/self/maps");
  PutDescriptors(out);
  PutModuleHeads(out);
  if (g_record.without_memory == 0) PutMemory(out);
  PutBlock(out, BlockKind::kEnd, nullptr, 0, nullptr, 0);
}

// Returns null, or why the file is not whole; then it is not there either.
RECRASH_SIGNAL_SAFE const char* WriteInto(int folder, const char* name, const char* partial) {
  const Discretion discretion;
  RawFileOut out = {openat(folder, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), false, folder,
                    discretion};
  if (out.fd < 0) return "cannot be made";
  PutAll(out);
  close(out.fd);
  if (!out.failed && renameat(folder, partial, folder, name) == 0) return nullptr;
  unlinkat(folder, partial, 0);
  return "could not be written to its end";
}

}  // namespace

const char* WriteRawReport(char (&path)[1024]) {
  CopyText(path, g_state.directory);
  const char* why = nullptr;
  const int folder = OpenReportFolder(why);
  if (folder < 0) return why;
  static char name[256], partial[256];
  const uint32_t random = RandomNumber();
  ReportName(name, random, ".rcraw");
  ReportName(partial, random, ".rcraw.part");
  Text(path) << g_state.directory << "/" << name;
  why = WriteInto(folder, name, partial);
  close(folder);
  return why;
}

}  // namespace recrash::client
