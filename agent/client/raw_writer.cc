// Writes the raw report: the process writes what it can read of itself, in the layout of raw_format.h.
//
// Signal-safe: system calls and static buffers. Memory is copied by process_vm_readv on the process itself, which stops
// at what cannot be read where a plain copy would fault.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/memory_maps.h"
#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/part_file.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/base/signal_safe/text.h"
#include "agent/client/address_space/address_space.h"
#include "agent/client/client.h"
#include "shadowstack/log_format.h"
#include "shadowstack/raw_format.h"

namespace recrash::client {
namespace {

using namespace signal_safe;
using raw::BlockKind;
using record::SnapshotLogAddress;

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
  bool has_log;      // of entries, whole
  bool has_proc;
  const Discretion& discretion;
  uint32_t pages_unread;
  uint32_t mappings_unlisted;
  uint32_t files_unknown;
  uint32_t threads_unnamed;
};

// The kernel has taken the collector, for want of memory. What is written counts as the program's own until it is on
// the disk: so it goes there piece by piece, lest the program be taken next.
RECRASH_SIGNAL_SAFE void WriteThrough(RawFileOut& out, uint64_t size) {
  constexpr uint64_t kPiece = 1 << 20;
  constexpr unsigned kWrittenAndWaitedFor = 7;  // SYNC_FILE_RANGE_WAIT_BEFORE, …_WRITE, …_WAIT_AFTER
  static uint64_t waiting;
  if (!WIFSIGNALED(g_made.status) || WTERMSIG(g_made.status) != SIGKILL) return;
  waiting += size;
  if (waiting < kPiece) return;
  waiting = 0;
  Call(SYS_sync_file_range, out.fd, uint64_t{0}, uint64_t{0}, kWrittenAndWaitedFor);
}

RECRASH_SIGNAL_SAFE void Put(RawFileOut& out, const void* data, uint64_t size) {
  WriteThrough(out, size);
  const char* at = static_cast<const char*>(data);
  while (size != 0 && !out.failed) {
    const ssize_t wrote = Fails("disk") && !out.last_resort ? 0 : write(out.fd, at, size);
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

// Of memory; PutOtherLoss: of anything else.
RECRASH_SIGNAL_SAFE void PutLoss(RawFileOut& out, const char* sentence) {
  PutBlock(out, BlockKind::kLoss, nullptr, 0, sentence, strlen(sentence));
}
RECRASH_SIGNAL_SAFE void PutOtherLoss(RawFileOut& out, const char* sentence) {
  PutBlock(out, BlockKind::kOtherLoss, nullptr, 0, sentence, strlen(sentence));
}
RECRASH_SIGNAL_SAFE void PutCount(RawFileOut& out, BlockKind kind, uint32_t count, const char* sentence) {
  char text[128];
  const Text counted = Text(text).Decimal(count) << sentence;
  if (count != 0) PutBlock(out, kind, nullptr, 0, text, counted.size());
}

// What cannot be read the reader of the report finds missing.
RECRASH_SIGNAL_SAFE void PutFile(RawFileOut& out, BlockKind kind, const char* path, bool fails) {
  const int fd = fails ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t size;
  while ((size = read(fd, g_buffer, kBuffer)) > 0)
    PutBlock(out, kind, nullptr, 0, g_buffer, static_cast<uint64_t>(size));
  close(fd);
}

RECRASH_SIGNAL_SAFE void PutLink(RawFileOut& out, BlockKind kind, const char* path, bool fails) {
  const ssize_t size = fails ? 0 : readlink(path, g_buffer, kBuffer);
  if (size > 0) PutBlock(out, kind, nullptr, 0, g_buffer, static_cast<uint64_t>(size));
}

// Reads from `address` into g_buffer; returns how many bytes could be read.
RECRASH_SIGNAL_SAFE uint64_t ReadSelf(uint64_t address, uint64_t size) {
  return ReadOwnAnyhow(address, g_buffer, size < kBuffer ? size : kBuffer);
}

// The same, and masks what is marked. `goes_on`: a page that is present may follow. Reading one that is not would make
// it present, and the next one after it.
RECRASH_SIGNAL_SAFE uint64_t ReadSelfMasked(const Discretion& discretion, uint64_t address, uint64_t size,
                                            bool goes_on) {
  const uint64_t got = ReadSelf(address, size);
  if (got == 0 || !discretion.has_values()) return got;
  memset(g_around, 0, kBeside);
  memset(g_buffer + got, 0, kBeside);
  ReadOwnAnyhow(address - kBeside, g_around, kBeside);
  if (goes_on) ReadOwnAnyhow(address + got, g_buffer + got, kBeside);
  discretion.Mask(g_around, kBeside + got + kBeside);
  discretion.MaskPlaces(address, g_buffer, got);
  return got;
}

// What is mapped, where there is no /proc to tell.
AddressSpace g_space;

RECRASH_SIGNAL_SAFE bool HasProc() { return access("/proc/self/maps", R_OK) == 0; }

// The log of entries; null if there is none, or no more than its header.
RECRASH_SIGNAL_SAFE const record::LogHeader* EntryLog() {
  const auto* log = reinterpret_cast<const record::LogHeader*>(SnapshotLogAddress(g_record.pid));
  const bool is_there = log != nullptr && log->stop != record::Stop::kNoMemory && log->stop != record::Stop::kForked;
  return is_there ? log : nullptr;
}

RECRASH_SIGNAL_SAFE void FindWhatIsMapped(const Discretion& discretion) {
  const uint64_t now = Nanoseconds(CLOCK_MONOTONIC);
  g_space.Begin(g_state.loaded, g_state.main_stack, now + (g_made.deadline > now ? (g_made.deadline - now) / 2 : 0));
  g_space.SetApart(reinterpret_cast<uint64_t>(g_state.additions), sizeof(abi::Additions), true);
  g_space.SetApart(discretion.table(), discretion.table_size(), true);
  if (const record::LogHeader* log = EntryLog(); log != nullptr) g_space.SetApart(log->start, log->size, false);
  const auto* const registers = g_record.context.uc_mcontext.gregs;
  for (int i = 0; i < NGREG; ++i) g_space.Use(static_cast<uint64_t>(registers[i]));
  uint64_t thread_pointer;
  asm("movq %%fs:0, %0" : "=r"(thread_pointer));
  g_space.Use(thread_pointer);
  for (uint32_t i = 0; i < HeldCount(); ++i) {
    if (HeldAt(i).context == nullptr) continue;
    g_space.Use(HeldAt(i).fs_base);
    g_space.Use(static_cast<uint64_t>(HeldAt(i).context->uc_mcontext.gregs[REG_RSP]));
  }
  g_space.Find();
}

// Of /proc/self/smaps, or of what was found without it.
class OwnMaps {
 public:
  RECRASH_SIGNAL_SAFE explicit OwnMaps(const RawFileOut& out, const char* path = "/proc/self/maps")
      : lines_(Fails("maps") ? "" : path), has_proc_(out.has_proc), at_(0) {}
  RECRASH_SIGNAL_SAFE bool Next(Map& map) { return has_proc_ ? lines_.Next(map) : NextFound(map); }
  RECRASH_SIGNAL_SAFE bool NextWithFlags(Map& map) { return has_proc_ ? lines_.NextWithFlags(map) : NextFound(map); }

 private:
  RECRASH_SIGNAL_SAFE bool NextFound(Map& map) {
    if (at_ == g_space.count()) return false;
    map = AsMap(g_space.at(at_++));
    return true;
  }

  MapLines lines_;
  bool has_proc_;
  uint32_t at_;
};

// As the kernel escapes it.
RECRASH_SIGNAL_SAFE void AppendName(Text& line, const char* name) {
  for (; *name != 0; ++name) {
    const char letter[2] = {*name, 0};
    line << (*name == '\n' ? "\\012" : letter);
  }
}

RECRASH_SIGNAL_SAFE void AppendNameOf(Text& line, const Mapped& mapped) {
  static char name[1024], directory[1024];
  switch (mapped.kind) {
    case MappedKind::kAnonymous:
      return;
    case MappedKind::kProgram:
      return AppendName(line, g_state.program);
    case MappedKind::kLibrary:
      name[ReadOwnAnyhow(reinterpret_cast<uint64_t>(mapped.name), name, sizeof name - 1)] = 0;
      if (name[0] != '/' && syscall(SYS_getcwd, directory, sizeof directory) > 0) {
        AppendName(line, directory);
        line << "/";
      }
      return AppendName(line, name);
    case MappedKind::kVdso:
      return AppendName(line, "[vdso]");
    case MappedKind::kVvar:
      return AppendName(line, "[vvar]");
    case MappedKind::kHeap:
      return AppendName(line, "[heap]");
    case MappedKind::kStack:
      return AppendName(line, "[stack]");
  }
}

// In the form of /proc/self/maps.
RECRASH_SIGNAL_SAFE void PutFoundMaps(RawFileOut& out) {
  static char text[4096];
  for (uint32_t i = 0; i < g_space.count(); ++i) {
    const Mapped& mapped = g_space.at(i);
    Text line(text);
    line.Hex(mapped.start) << "-";
    line.Hex(mapped.end) << " " << (mapped.readable ? "r" : "-") << (mapped.writable ? "w" : "-")
                         << (mapped.executable ? "x" : "-") << "p ";
    line.Hex(mapped.offset) << " 00:00 0 ";
    AppendNameOf(line, mapped);
    line << "\n";
    PutBlock(out, BlockKind::kMaps, nullptr, 0, text, line.size());
  }
  PutOtherLoss(
      out,
      "what is mapped was found out without /proc: which memory the program shares, or excludes from core dumps, is "
      "not known, and all was kept");
  if (g_space.is_cut()) PutLoss(out, "there was more memory than could be found without /proc");
}

RECRASH_SIGNAL_SAFE void PutText(RawFileOut& out, BlockKind kind, const char* text) {
  PutBlock(out, kind, nullptr, 0, text, strlen(text));
}

RECRASH_SIGNAL_SAFE void PutArguments(RawFileOut& out) {
  constexpr uint32_t kMostArguments = 65536;
  for (uint32_t i = 0; g_state.arguments != nullptr && i < kMostArguments; ++i) {
    uint64_t argument = 0;
    if (ReadOwnAnyhow(reinterpret_cast<uint64_t>(g_state.arguments + i), &argument, sizeof argument) == 0) return;
    if (argument == 0) return;
    const uint64_t got = ReadSelf(argument, kBuffer - 1);
    g_buffer[got] = 0;
    PutBlock(out, BlockKind::kCommandLine, nullptr, 0, g_buffer, strlen(g_buffer) + 1);
  }
}

// What /proc/self tells, and what is known without it.
RECRASH_SIGNAL_SAFE void PutProcTexts(RawFileOut& out) {
  if (out.has_proc) {
    PutLink(out, BlockKind::kExecutable, "/proc/self/exe", Fails("exe"));
    PutLink(out, BlockKind::kDirectory, "/proc/self/cwd", Fails("cwd"));
    PutFile(out, BlockKind::kCommandLine, "/proc/self/cmdline", Fails("cmdline"));
    PutFile(out, BlockKind::kStat, "/proc/self/stat", false);
    return PutFile(out, BlockKind::kMaps, "/proc/self/maps", Fails("maps"));
  }
  PutText(out, BlockKind::kExecutable, g_state.program);
  if (syscall(SYS_getcwd, g_buffer, kBuffer) > 0) PutText(out, BlockKind::kDirectory, g_buffer);
  PutArguments(out);
  PutFoundMaps(out);
}

RECRASH_SIGNAL_SAFE void PutModuleHeads(RawFileOut& out) {
  OwnMaps lines(out);
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
  RECRASH_SIGNAL_SAFE PresentPages() : fd_(open(Fails("pagemap") ? "" : "/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  RECRASH_SIGNAL_SAFE ~PresentPages() {
    if (fd_ >= 0) close(fd_);
  }

  // Finds the first run in [at, end); returns false if there is none. `whole`: all pages count as present, as those of
  // a file do, which reading brings in.
  RECRASH_SIGNAL_SAFE bool Next(RawFileOut& out, uint64_t at, uint64_t end, bool whole, uint64_t& run,
                                uint64_t& run_end) const {
    run = at;
    run_end = end;
    if (at >= end) return false;
    if (!whole && !Scan(run, run_end) && !ReadEntries(run, run_end) && !AskForEach(run, run_end)) {
      ++out.mappings_unlisted;
      return false;
    }
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

  // Without pagemap. What is zeros may not have been touched.
  RECRASH_SIGNAL_SAFE bool AskForEach(uint64_t& run, uint64_t& run_end) const {
    if (fd_ >= 0 || Fails("pagemap")) return false;
    static uint8_t has_content[kBuffer / kPage];
    const uint64_t end = run_end;
    bool inside = false;
    for (uint64_t at = run; at < end;) {
      const uint32_t told = PagesWithContent(at, end, has_content, sizeof has_content);
      if (told == 0) break;
      for (uint32_t i = 0; i < told; ++i, at += kPage) {
        const bool present = (has_content[i] & 1) != 0 && !IsZeros(at);
        if (present && !inside) run = at;
        if (!present && inside) {
          run_end = at;
          return true;
        }
        inside = present;
      }
      if (inside && at - run >= kBuffer) {
        run_end = at;
        return true;
      }
    }
    if (!inside) run = end;
    return true;
  }

  RECRASH_SIGNAL_SAFE static bool IsZeros(uint64_t page) {
    static uint64_t words[kPage / sizeof(uint64_t)];
    if (ReadOwnAnyhow(page, words, kPage) != kPage) return true;
    for (const uint64_t word : words)
      if (word != 0) return false;
    return true;
  }

  int fd_;
};

// False if the rest of the budget is too small for it.
RECRASH_SIGNAL_SAFE bool PutMap(RawFileOut& out, const Map& map, const PresentPages& pages, uint64_t& budget,
                                bool whole, bool always) {
  uint64_t run, end;
  for (uint64_t at = map.start; !out.failed && pages.Next(out, at, map.end, whole, run, end);) {
    if (!always && budget < end - run) return false;
    const bool goes_on = end == map.end || end - run == kBuffer;
    const uint64_t size = Fails("page") ? 0 : ReadSelfMasked(out.discretion, run, end - run, goes_on);
    if (size != end - run) ++out.pages_unread;
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
RECRASH_SIGNAL_SAFE bool TimeIsOver() {
  return Fails("time") || Nanoseconds(CLOCK_MONOTONIC) + 100000000 > g_made.deadline;
}

// Does smaps say which memory is excluded from core dumps?
RECRASH_SIGNAL_SAFE bool HasFlags() {
  MapLines lines(Fails("smaps") ? "" : "/proc/self/smaps");
  Map map;
  return lines.NextWithFlags(map);
}

// The log of entries, of which pages are written whatever the limit is: it is no part of the program's memory. Copies
// in it are not where the values that they are of were, so that those which are marked would not be found.
RECRASH_SIGNAL_SAFE void PutLogPages(RawFileOut& out, const Map& map, const PresentPages& pages) {
  uint64_t budget = 0;
  if (out.discretion.has_values()) return;
  out.has_log = PutMap(out, map, pages, budget, false, true);
}

// Writes program and library data and the failing stack, then the rest up to the limit, lowest address (the heap)
// first. What the program excludes from core dumps is left out.
RECRASH_SIGNAL_SAFE void PutMemory(RawFileOut& out) {
  const uint64_t sp = static_cast<uint64_t>(g_record.context.uc_mcontext.gregs[REG_RSP]);
  uint64_t budget = uint64_t{g_state.options.memory_mib} << 20;
  bool is_whole = true;
  const bool has_flags = !out.has_proc || HasFlags();
  OwnMaps lines(out, has_flags ? "/proc/self/smaps" : "/proc/self/maps");
  PresentPages pages;
  if (out.last_resort)
    PutLoss(out, "all but the innermost frames (other memory, attached files, ends of logs): the disk was nearly full");
  if (!has_flags)
    PutOtherLoss(out, "which memory the program excludes from core dumps: the kernel does not say, and all was kept");
  for (Map map; has_flags ? lines.NextWithFlags(map) : lines.Next(map);) {
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
    const record::LogHeader* const log = EntryLog();
    if (log != nullptr && log->start >= map.start && log->start < map.end) {
      PutLogPages(out, map, pages);
      continue;
    }
    // A mapping larger than the limit is no library's, but data.
    const bool library = map.file && map.end - map.start <= (uint64_t{g_state.options.memory_mib} << 20);
    if (!PutMap(out, map, pages, budget, library, library || failing_stack)) is_whole = false;
  }
  if (!is_whole) PutLoss(out, "memory beyond the limit was not kept (RECRASH_OPTIONS=memory=MiB)");
  PutCount(out, BlockKind::kLoss, out.pages_unread, " pages of memory could not be read");
  PutCount(out, BlockKind::kLoss, out.mappings_unlisted,
           " mappings were left out: their pages cannot be listed, or not in time (before Linux 6.7)");
}

RECRASH_SIGNAL_SAFE uint64_t ProcessTime() {
  constexpr int kOfProcess = 2;  // as clock_getcpuclockid() puts it together; this one may be the process aside
  return Nanoseconds(static_cast<clockid_t>(~static_cast<unsigned>(g_record.pid) << 3 | kOfProcess));
}

RECRASH_SIGNAL_SAFE void PutWhyNoLog(RawFileOut& out) {
  const auto* header = reinterpret_cast<const record::LogHeader*>(SnapshotLogAddress(g_record.pid));
  if (header == nullptr) return;
  PutOtherLoss(out,
               header->stop == record::Stop::kNoMemory
                   ? "no entry states: no memory for the log of snapshots"
                   : "no entry states: they were recorded in a parent process, and a child of fork has none of them");
}

// Behind the memory. The desk leaves the log's descriptors out of the program's files, also without its pages.
RECRASH_SIGNAL_SAFE void PutEntryLog(RawFileOut& out) {
  const record::LogHeader* const log = EntryLog();
  if (log == nullptr) return PutWhyNoLog(out);
  raw::RawEntryLog block = {reinterpret_cast<uint64_t>(log), log->size, ProcessTime(), {}, out.has_log ? 1u : 0u};
  memcpy(block.descriptors, log->descriptors, sizeof block.descriptors);
  PutBlock(out, BlockKind::kEntryLog, nullptr, 0, &block, sizeof block);
  // Where all other memory is lost, too, that is said.
  if (!out.has_log && !out.last_resort && g_record.without_memory == 0)
    PutOtherLoss(
        out, out.discretion.has_values()
                 ? "no entry states: a report without a collector has none of a program that marks values as sensitive"
                 : "no entry states: the time was over before their log was kept");
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
  const uint64_t size = Fails("abort_message") ? 0 : ReadSelf(message, kPage);
  if (size <= 4) return PutOtherLoss(out, "the C library's last message: it cannot be read");
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

RECRASH_SIGNAL_SAFE bool ReadThreadName(raw::RawThread& thread) {
  char path[64];
  OfProgram(path, "/task/").Decimal(static_cast<uint64_t>(thread.id)) << "/comm";
  const int fd = open(Fails("thread_name") ? "" : path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[sizeof thread.name + 1] = {};
  const bool is_read = read(fd, name, sizeof name - 1) > 0;
  if (is_read) memcpy(thread.name, name, strcspn(name, "\n"));
  close(fd);
  return is_read;
}

RECRASH_SIGNAL_SAFE void PutHeldThread(RawFileOut& out, const HeldThread& held) {
  if (__atomic_load_n(&held.id, __ATOMIC_ACQUIRE) == 0) return;
  raw::RawThread thread = {};
  thread.id = held.id;
  if (!ReadThreadName(thread)) ++out.threads_unnamed;
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
  if (MayHaveMoreThreads())
    PutOtherLoss(out, "other threads, if there were any: without /proc they were not all found");
  PutCount(out, BlockKind::kLoss, OthersNotHeld(),
           " threads were not held: they ran on while memory was kept, without registers");
  PutCount(out, BlockKind::kOtherLoss, out.threads_unnamed, " names of threads: /proc does not tell");
}

// The number behind `name` in a file of /proc/PID/fdinfo.
RECRASH_SIGNAL_SAFE uint64_t NumberBehind(const char* name, const char* text, int base) {
  const char* at = strstr(text, name);
  if (at == nullptr) return 0;
  at += strlen(name);
  while (*at == ' ' || *at == '\t') ++at;
  return ReadNumber(at, base);
}

RECRASH_SIGNAL_SAFE bool ReadPosition(int descriptor, raw::RawFile& file) {
  char path[64];
  OfProgram(path, "/fdinfo/").Decimal(static_cast<uint64_t>(descriptor));
  const int fd = open(Fails("descriptor_position") ? "" : path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[256] = {};
  const bool is_read = read(fd, text, sizeof text - 1) > 0;
  if (is_read) {
    file.offset = NumberBehind("pos:", text, 10);
    file.flags = static_cast<int32_t>(NumberBehind("flags:", text, 8));
  }
  close(fd);
  return is_read;
}

RECRASH_SIGNAL_SAFE void PutDescriptor(RawFileOut& out, int descriptor) {
  raw::RawFile file = {};
  file.descriptor = descriptor;
  bool is_known = ReadPosition(descriptor, file);
  char link[64];
  OfProgram(link, "/fd/").Decimal(static_cast<uint64_t>(descriptor));
  struct stat status;
  if (stat(link, &status) == 0) {
    file.mode = status.st_mode;
    file.size = static_cast<uint64_t>(status.st_size);
  }
  static char path[4096];
  const ssize_t length = Fails("descriptor_name") ? 0 : readlink(link, path, sizeof path);
  if (length > 0) PutBlock(out, BlockKind::kFile, &file, sizeof file, path, static_cast<uint64_t>(length));
  is_known &= length > 0;
  if (!is_known) ++out.files_unknown;
}

// Of the program, not of the process aside, which has none of them.
RECRASH_SIGNAL_SAFE void PutDescriptors(RawFileOut& out) {
  char path[64];
  OfProgram(path, "/fd");
  const int folder = open(Fails("descriptors") ? "" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return PutOtherLoss(out, "open files: /proc does not list them");
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
  PutCount(out, BlockKind::kOtherLoss, out.files_unknown,
           " open files: /proc does not tell name, or position and flags");
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

RECRASH_SIGNAL_SAFE void PutWhyNoCollector(RawFileOut& out) {
  char sentence[1536];
  Text text(sentence);
  text << "a report by the collector: ";
  SayWhyNoCollector(text);
  PutOtherLoss(out, sentence);
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
  PutWhyNoCollector(out);
  const bool knows_marked = KnowsMarkedValues();
  if (knows_marked)
    PutAdditions(PutWhole, &out);
  else
    PutOtherLoss(out, "notes, logs and attached files: the program marks more values than can be masked");
  PutProcTexts(out);
  PutDescriptors(out);
  PutModuleHeads(out);
  PutCode(out);
  if (g_record.without_memory == 0) PutMemory(out);
  PutEntryLog(out);
  if (knows_marked && !out.last_resort) PutNamedFiles(PutWhole, &out);
  PutBlock(out, BlockKind::kEnd, nullptr, 0, nullptr, 0);
}

// Returns null, or why the file is not whole; then it is not there either.
RECRASH_SIGNAL_SAFE const char* WriteInto(int folder, int file, const char* name, const char* partial) {
  const Discretion discretion;
  const bool has_proc = HasProc();
  if (!has_proc) FindWhatIsMapped(discretion);
  RawFileOut whole = {file, false, folder, false, false, has_proc, discretion, 0, 0, 0, 0};
  PutAll(whole);
  RawFileOut out = {file, whole.failed, folder, true, false, has_proc, discretion, 0, 0, 0, 0};
  if (out.failed && ftruncate(out.fd, 0) == 0 && lseek(out.fd, 0, SEEK_SET) == 0) {
    out.failed = false;
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
