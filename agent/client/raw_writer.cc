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
#include "agent/base/signal_safe/part_file.h"
#include "agent/base/signal_safe/text.h"
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
  int folder;        // it lies in
  bool last_resort;  // there is room for little
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

RECRASH_SIGNAL_SAFE void PutWhole(void* out, BlockKind kind, const void* bytes, uint64_t size) {
  PutBlock(*static_cast<RawFileOut*>(out), kind, nullptr, 0, bytes, size);
}

RECRASH_SIGNAL_SAFE void PutLoss(RawFileOut& out, const char* sentence) {
  PutBlock(out, BlockKind::kLoss, nullptr, 0, sentence, strlen(sentence));
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
  return ReadOwnAnyhow(address, g_buffer, size < kBuffer ? size : kBuffer);
}

// The same, and masks what is marked.
RECRASH_SIGNAL_SAFE uint64_t ReadSelfMasked(const Discretion& discretion, uint64_t address, uint64_t size) {
  const uint64_t got = ReadSelf(address, size);
  if (got == 0 || !discretion.has_values()) return got;
  memset(g_around, 0, kBeside);
  memset(g_buffer + got, 0, kBeside);
  ReadOwnAnyhow(address - kBeside, g_around, kBeside);
  ReadOwnAnyhow(address + got, g_buffer + got, kBeside);
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

constexpr uint64_t kCodeBefore = 512, kCodeBehind = 128;

// The desk compares it with the file: a bit of it may have flipped.
RECRASH_SIGNAL_SAFE void PutCode(RawFileOut& out) {
  const uint64_t pc = static_cast<uint64_t>(g_record.context.uc_mcontext.gregs[REG_RIP]);
  MapLines lines;
  for (Map map; lines.Next(map);) {
    if (!map.readable || map.writable || pc < map.start || pc >= map.end) continue;
    const raw::RawMemory head = {pc - map.start > kCodeBefore ? pc - kCodeBefore : map.start};
    const uint64_t end = map.end - pc > kCodeBehind ? pc + kCodeBehind : map.end;
    const uint64_t size = ReadSelf(head.address, end - head.address);
    if (size != 0) PutBlock(out, BlockKind::kCode, &head, sizeof head, g_buffer, size);
    return;
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

// False if the rest of the budget is too small for it.
RECRASH_SIGNAL_SAFE bool PutMap(RawFileOut& out, const Map& map, const PresentPages& pages, uint64_t& budget,
                                bool whole, bool always) {
  uint64_t run, end;
  for (uint64_t at = map.start; !out.failed && pages.Next(at, map.end, whole, run, end);) {
    if (!always && budget < end - run) return false;
    const uint64_t size = ReadSelfMasked(out.discretion, run, end - run);
    if (size != 0) {
      const raw::RawMemory head = {run};
      PutBlock(out, BlockKind::kMemory, &head, sizeof head, g_buffer, size);
      if (!always) budget -= size;
    }
    at = size == end - run ? end : run + size / kPage * kPage + kPage;
  }
  return true;
}

// In the last resort: the innermost frames.
constexpr uint64_t kInnermost = 64 << 10;

RECRASH_SIGNAL_SAFE void PutInnermostFrames(RawFileOut& out, Map map, uint64_t sp, const PresentPages& pages) {
  uint64_t budget = 0;
  const uint64_t low = (sp > kPage ? sp - kPage : 0) & ~(kPage - 1);
  if (map.start < low) map.start = low;
  if (map.end > low + kInnermost) map.end = low + kInnermost;
  if (map.start < map.end) PutMap(out, map, pages, budget, false, true);
}

// What is left of the time is for the end of the file.
RECRASH_SIGNAL_SAFE bool TimeIsOver() { return Nanoseconds(CLOCK_MONOTONIC) + 100000000 > g_made.deadline; }

// Writes program and library data and the failing stack, then the rest up to the limit, lowest address (the heap)
// first. What the program excludes from core dumps is left out.
RECRASH_SIGNAL_SAFE void PutMemory(RawFileOut& out) {
  const uint64_t sp = static_cast<uint64_t>(g_record.context.uc_mcontext.gregs[REG_RSP]);
  uint64_t budget = uint64_t{g_state.options.memory_mib} << 20;
  bool is_whole = true;
  MapLines lines("/proc/self/smaps");
  PresentPages pages;
  if (out.last_resort) PutLoss(out, "the disk was nearly full: of the memory only the innermost frames were kept");
  for (Map map; lines.NextWithFlags(map);) {
    if (TimeIsOver())
      return PutLoss(out, "the time was over before all of the memory was kept (RECRASH_OPTIONS=timeout)");
    if (!map.readable || !map.writable || map.shared) continue;
    if (map.not_dumped) {
      const raw::RawRange range = {map.start, map.end};
      PutBlock(out, BlockKind::kWithheld, &range, sizeof range, nullptr, 0);
      continue;
    }
    const bool failing_stack = sp + kPage >= map.start && sp < map.end;
    if (out.last_resort && failing_stack) PutInnermostFrames(out, map, sp, pages);
    if (out.last_resort) continue;
    // A mapping larger than the limit is no library's, but data.
    const bool library = map.file && map.end - map.start <= (uint64_t{g_state.options.memory_mib} << 20);
    if (!PutMap(out, map, pages, budget, library, library || failing_stack)) is_whole = false;
  }
  if (!is_whole) PutLoss(out, "memory beyond the limit was not kept (RECRASH_OPTIONS=memory=MiB)");
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

RECRASH_SIGNAL_SAFE Text OfProgram(char (&out)[64], const char* what) {
  Text text(out);
  (text << "/proc/").Decimal(static_cast<uint64_t>(g_record.pid));
  return text << what;
}

RECRASH_SIGNAL_SAFE void PutThread(RawFileOut& out) {
  raw::RawThread thread = {};
  thread.id = g_record.tid;
  thread.failing = 1;
  prctl(PR_GET_NAME, thread.name, 0, 0, 0);
  PutBlock(out, BlockKind::kThread, nullptr, 0, &thread, sizeof thread);
}

RECRASH_SIGNAL_SAFE void ReadThreadName(raw::RawThread& thread) {
  char path[64];
  OfProgram(path, "/task/").Decimal(static_cast<uint64_t>(thread.id)) << "/comm";
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char name[sizeof thread.name + 1] = {};
  if (read(fd, name, sizeof name - 1) > 0) memcpy(thread.name, name, strcspn(name, "\n"));
  close(fd);
}

RECRASH_SIGNAL_SAFE void PutHeldThread(RawFileOut& out, const HeldThread& held) {
  if (__atomic_load_n(&held.id, __ATOMIC_ACQUIRE) == 0) return;
  raw::RawThread thread = {};
  thread.id = held.id;
  ReadThreadName(thread);
  PutBlock(out, BlockKind::kThread, nullptr, 0, &thread, sizeof thread);
  static raw::RawRegisters registers;
  memset(&registers, 0, sizeof registers);
  registers.id = held.id;
  registers.fs_base = held.fs_base;
  const mcontext_t& context = held.context->uc_mcontext;
  static_assert(sizeof registers.general == sizeof context.gregs);
  memcpy(registers.general, context.gregs, sizeof registers.general);
  if (context.fpregs != nullptr) memcpy(registers.fpstate, context.fpregs, sizeof registers.fpstate);
  PutBlock(out, BlockKind::kRegisters, nullptr, 0, &registers, sizeof registers);
}

RECRASH_SIGNAL_SAFE void PutHeldThreads(RawFileOut& out) {
  for (uint32_t i = 0; i < HeldCount(); ++i) PutHeldThread(out, HeldAt(i));
  const uint32_t missing = OthersNotHeld();
  if (missing == 0) return;
  char sentence[128];
  Text(sentence).Decimal(missing) << " threads were not held: they ran on while memory was kept, without registers";
  PutLoss(out, sentence);
}

// The number behind `name` in a file of /proc/PID/fdinfo.
RECRASH_SIGNAL_SAFE uint64_t NumberBehind(const char* name, const char* text, int base) {
  const char* at = strstr(text, name);
  if (at == nullptr) return 0;
  at += strlen(name);
  while (*at == ' ' || *at == '\t') ++at;
  return ReadNumber(at, base);
}

RECRASH_SIGNAL_SAFE void ReadPosition(int descriptor, raw::RawFile& file) {
  char path[64];
  OfProgram(path, "/fdinfo/").Decimal(static_cast<uint64_t>(descriptor));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[256] = {};
  if (read(fd, text, sizeof text - 1) > 0) {
    file.offset = NumberBehind("pos:", text, 10);
    file.flags = static_cast<int32_t>(NumberBehind("flags:", text, 8));
  }
  close(fd);
}

RECRASH_SIGNAL_SAFE void PutDescriptor(RawFileOut& out, int descriptor) {
  raw::RawFile file = {};
  file.descriptor = descriptor;
  ReadPosition(descriptor, file);
  char link[64];
  OfProgram(link, "/fd/").Decimal(static_cast<uint64_t>(descriptor));
  struct stat status;
  if (stat(link, &status) == 0) {
    file.mode = status.st_mode;
    file.size = static_cast<uint64_t>(status.st_size);
  }
  static char path[4096];
  const ssize_t length = readlink(link, path, sizeof path);
  if (length > 0) PutBlock(out, BlockKind::kFile, &file, sizeof file, path, static_cast<uint64_t>(length));
}

// Of the program, not of the process aside, which has none of them.
RECRASH_SIGNAL_SAFE void PutDescriptors(RawFileOut& out) {
  char path[64];
  OfProgram(path, "/fd");
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const bool is_aside = syscall(SYS_getpid) != g_record.pid;
  alignas(8) static char entries[4096];
  long size;
  while ((size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
      const char* digits = entry->d_name;
      const int descriptor = static_cast<int>(ReadNumber(digits, 10));
      if (is_aside || (descriptor != folder && descriptor != out.fd && descriptor != out.folder))
        PutDescriptor(out, descriptor);
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

constexpr uint32_t kMostNames = 100;  // that are tried

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
  PutHeldThreads(out);
  const bool knows_marked = KnowsMarkedValues();
  if (knows_marked) PutAdditions(PutWhole, &out);
  PutLink(out, BlockKind::kExecutable, "/proc/self/exe");
  PutLink(out, BlockKind::kDirectory, "/proc/self/cwd");
  PutFile(out, BlockKind::kCommandLine, "/proc/self/cmdline");
  PutFile(out, BlockKind::kStat, "/proc/self/stat");
  PutFile(out, BlockKind::kMaps, "/proc/self/maps");
  PutDescriptors(out);
  PutModuleHeads(out);
  PutCode(out);
  if (g_record.without_memory == 0) PutMemory(out);
  if (knows_marked && !out.last_resort) PutNamedFiles(PutWhole, &out);
  PutBlock(out, BlockKind::kEnd, nullptr, 0, nullptr, 0);
}

// Returns null, or why the file is not whole; then it is not there either.
RECRASH_SIGNAL_SAFE const char* WriteInto(int folder, int file, const char* name, const char* partial) {
  const Discretion discretion;
  RawFileOut out = {file, false, folder, false, discretion};
  PutAll(out);
  if (out.failed && ftruncate(out.fd, 0) == 0 && lseek(out.fd, 0, SEEK_SET) == 0) {
    out.failed = false;
    out.last_resort = true;
    PutAll(out);
  }
  const bool is_whole = !out.failed && renameat(folder, partial, folder, name) == 0;
  if (!is_whole) unlinkat(folder, partial, 0);
  close(file);  // and with it the lock
  return is_whole ? nullptr : "could not be written to its end";
}

}  // namespace

// Where the kernel has none to give, O_EXCL alone has to do.
uint32_t RandomNumber() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<uint32_t>(Nanoseconds(CLOCK_MONOTONIC));
  return number;
}

const char* WriteRawReport(char (&path)[1024]) {
  CopyText(path, g_made.folder);
  const char* why = nullptr;
  const int folder = OpenReportFolder(g_made.folder, why);
  if (folder < 0) return why;
  static char name[256], partial[256];
  const uint32_t random = RandomNumber();
  Claim claim = Claim::kTaken;
  int file = -1;
  for (uint32_t i = 0; i < kMostNames && claim == Claim::kTaken; ++i) {
    ReportName(name, random + i, ".rcraw");
    (Text(partial) << name) << kPartSuffix;
    Text(path) << g_made.folder << "/" << name;
    claim = ClaimName(folder, name, partial, file);
  }
  why = claim == Claim::kOurs ? WriteInto(folder, file, name, partial) : "cannot be made";
  close(folder);
  return why;
}

}  // namespace recrash::client
