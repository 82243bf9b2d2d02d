#include "testgen/replay/guest/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/pages.h"
#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

// Below this a run is copied: each one mapped costs a kernel mapping, and a process has 65,530 of them.
constexpr uint64_t kSmallestMapped = 64 << 10;
// No recorded descriptor is so high.
constexpr int kFirstOwnDescriptor = 500;

bool MapAt(const plan::Mapping& mapping, int protection, int flags, int file, uint64_t offset) {
  void* wanted = Pointer<void>(mapping.start);
  return mmap(wanted, mapping.end - mapping.start, protection, flags | MAP_PRIVATE | MAP_FIXED_NOREPLACE, file,
              static_cast<off_t>(offset)) == wanted;
}

// A report names any path: a device is not opened, and a FIFO, even one that comes in between, holds nothing up.
int OpenRegular(const char* path) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// Locale archives, gconv caches, mapped inputs. A file that is gone or shorter leaves a hole: who touches it fails.
void MapFile(const plan::Mapping& mapping) {
  const int file = IsHeld(mapping.input) ? OpenHeld(mapping.input, O_CLOEXEC) : OpenRegular(TextOf(mapping.path));
  struct stat status;
  const bool fits = !LeftOut("mapped_files") && file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                    static_cast<uint64_t>(status.st_size) > mapping.file_offset;
  if (!fits || !MapAt(mapping, static_cast<int>(mapping.protection), 0, file, mapping.file_offset)) {
    MapAt(mapping, PROT_NONE, MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (file >= 0) close(file);
}

int ProtectionOf(const plan::Mapping& mapping) {
  if (mapping.kind == plan::MappingKind::kEntry) return PROT_NONE;
  return PROT_READ | PROT_WRITE | static_cast<int>(mapping.protection & PROT_EXEC);
}

bool PlaceRun(const plan::Run& run) {
  if (run.size >= kSmallestMapped) {
    void* wanted = Pointer<void>(run.address);
    if (mmap(wanted, run.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, world.plan_fd,
             static_cast<off_t>(world.plan->contents + run.offset)) != wanted) {
      return false;
    }
  } else {
    Copy(run.address, ContentOf(run), run.size);
  }
  TranslateRange(run.address, run.size);
  return true;
}

bool IsPlaced(const plan::Run& run) {
  for (const plan::Mapping& mapping : TableOf<plan::Mapping>(world.plan->mappings)) {
    if (mapping.kind == plan::MappingKind::kMemory && run.address >= mapping.start &&
        run.address + run.size <= mapping.end) {
      return true;
    }
  }
  return false;
}

}  // namespace

Placement PlaceMemory() {
  for (const plan::Mapping& mapping : TableOf<plan::Mapping>(world.plan->mappings)) {
    if (mapping.kind == plan::MappingKind::kFile) {
      MapFile(mapping);
    } else if (mapping.kind == plan::MappingKind::kReserved) {
      MapAt(mapping, PROT_NONE, MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    } else if (!MapAt(mapping, ProtectionOf(mapping), MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
      if (errno == EEXIST) return Placement::kCollision;
      Problem("cannot map the recorded memory at 0x%llx (%llu KiB): %s", static_cast<unsigned long long>(mapping.start),
              static_cast<unsigned long long>((mapping.end - mapping.start) >> 10), strerror(errno));
    }
  }
  RefreshMemory();
  return Placement::kPlaced;
}

void RefreshMemory() {
  for (const plan::Run& run : TableOf<plan::Run>(world.plan->runs)) {
    if (run.module < 0 && IsPlaced(run) && !PlaceRun(run)) {
      Problem("cannot map the recorded contents at 0x%llx: %s", static_cast<unsigned long long>(run.address),
              strerror(errno));
    }
  }
}

void PlaceGhosts() {
  bool moved = false;
  // All before any is filled: a word of one may point into another.
  ForEachRebuilt([&](LiveModule& module) {
    const uint64_t size = module.recorded_range.end - module.recorded_range.start;
    void* wanted = Pointer<void>(module.recorded_range.start);
    void* ghost = mmap(wanted, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    // A program that is not PIE lies where its predecessor lay; then the ghost goes elsewhere, with all words into it.
    if (ghost != wanted) {
      ghost = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (ghost == MAP_FAILED) Problem("cannot map the recorded image of a rebuilt module: %s", strerror(errno));
    module.ghost = Number(ghost);
    moved = moved || ghost != wanted;
  });
  // Words that were placed before took the ghosts to be at their recorded bases.
  if (moved) RefreshMemory();
  FillGhosts();
}

void FillGhosts() {
  ForEachRebuilt([](LiveModule& module) {
    const Range recorded = module.recorded_range;
    for (const plan::Run& run : TableOf<plan::Run>(world.plan->runs)) {
      if (!recorded.Contains(run.address)) continue;
      const uint64_t live = run.address - recorded.start + module.ghost;
      const uint64_t fits = run.address + run.size <= recorded.end ? run.size : recorded.end - run.address;
      Copy(live, ContentOf(run), fits);
      TranslateRange(live, fits);
    }
  });
}

// ---- Watching ----

namespace {

const plan::Mapping* MappingAt(uint64_t address, plan::MappingKind kind) {
  for (const plan::Mapping& mapping : TableOf<plan::Mapping>(world.plan->mappings)) {
    if (mapping.kind == kind && address >= mapping.start && address < mapping.end) return &mapping;
  }
  return nullptr;
}

const plan::Mapping* MemoryAt(uint64_t address) { return MappingAt(address, plan::MappingKind::kMemory); }

bool Return(const plan::Mapping& mapping, uint64_t start, uint64_t end) {
  return Raw(SYS_mprotect, start, end - start, ProtectionOf(mapping)) == 0;
}

}  // namespace

bool IsRecordedMemory(uint64_t address) {
  return MemoryAt(address) != nullptr || MappingAt(address, plan::MappingKind::kEntry) != nullptr;
}

void TakeWatchedAway() {
  if (!world.touched) return;
  for (const plan::Range& range : TableOf<plan::Range>(world.plan->watched)) {
    Raw(SYS_mprotect, range.start, range.end - range.start, PROT_NONE);
  }
}

bool GiveWatchedBack(uint64_t address) {
  if (!world.touched) return false;
  uint8_t* pages = world.touched;
  for (const plan::Range& range : TableOf<plan::Range>(world.plan->watched)) {
    const uint64_t count = (range.end - range.start) / plan::kPageSize;
    const plan::Mapping* mapping = address >= range.start && address < range.end ? MemoryAt(address) : nullptr;
    if (mapping) {
      const uint64_t page = address / plan::kPageSize * plan::kPageSize;
      const uint64_t number = (page - range.start) / plan::kPageSize;
      pages[number] = 1;
      if (Return(*mapping, page, page + plan::kPageSize)) return true;
      // A process has 65,530 mappings, and each page that comes back alone may make two more.
      for (uint64_t i = 0; i < count; ++i) pages[i] = 1;
      return Return(*mapping, range.start, range.end);
    }
    pages += count;
  }
  return false;
}

// ---- Absent memory ----

namespace {

// Calls visit(address, size, offset in the file) for each range, until one returns true.
template <typename Visit>
void VisitAbsent(Visit visit) {
  uint64_t offset = 0;
  for (const plan::Range& range : TableOf<plan::Range>(world.plan->absent)) {
    uint64_t address = range.start;
    ForEachRebuilt([&](const LiveModule& module) {
      if (module.recorded_range.Contains(range.start))
        address = range.start - module.recorded_range.start + module.ghost;
    });
    if (visit(address, range.end - range.start, offset)) return;
    offset += range.end - range.start;
  }
}

}  // namespace

void MakeAbsent() {
  if (world.plan->absent.count == 0 || LeftOut("absent_memory")) return;
  uint64_t size = 0;
  for (const plan::Range& range : TableOf<plan::Range>(world.plan->absent)) size += range.end - range.start;
  if (world.absent_fd > 0) close(world.absent_fd);
  const int file = memfd_create("recrash-absent", MFD_CLOEXEC);
  world.absent_fd = fcntl(file, F_DUPFD_CLOEXEC, kFirstOwnDescriptor);
  close(file);
  if (world.absent_fd < 0 || ftruncate(world.absent_fd, static_cast<off_t>(size)) != 0)
    Problem("cannot make an anonymous file: %s", strerror(errno));
}

void PlaceAbsent() {
  if (world.absent_fd <= 0) return;
  VisitAbsent([](uint64_t address, uint64_t size, uint64_t offset) {
    Raw(SYS_mmap, address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, world.absent_fd,
        offset);
    return false;
  });
}

uint64_t FindTouchedAbsent(uint64_t failing) {
  if (world.absent_fd <= 0) return 0;
  const off_t touched = lseek(world.absent_fd, 0, SEEK_DATA);
  uint64_t found = 0;
  VisitAbsent([&](uint64_t address, uint64_t size, uint64_t offset) {
    if (touched >= 0 && static_cast<uint64_t>(touched) - offset < size) found = address + touched - offset;
    if (failing - address < size) found = failing;
    return found != 0;
  });
  return found;
}

// ---- Entry states: nothing here needs libc, it runs between two processes' data (raw.h) ----

namespace {

void Put(uint64_t to, const plan::Run& run, uint64_t offset, uint64_t size) {
  Copy(to, ContentOf(run) + offset, size);
  TranslateRange(to, size);
}

// Of a module's pages those that stay writable: the loader's work on the others is this process's own.
void PutModulePages(const plan::Run& run) {
  const LiveModule* module = ModuleAt(run.module);
  if (!module || (module->recorded->flags & (plan::kLoader | plan::kVdso))) return;
  const uint64_t within = run.address - module->recorded_range.start;
  if (module->rebuilt()) {
    Put(module->ghost + within, run, 0, run.size);
    return;
  }
  for (uint64_t page = 0; page < run.size; page += plan::kPageSize) {
    const uint64_t live = module->live.start + within + page;
    if (IsWritable(*module, live)) Put(live, run, page, plan::kPageSize);
  }
}

// By how much the heap had grown since the entry; not below `end` where it had not.
Range HeapBeyond(const plan::EntryState& state) {
  return {signal_safe::PageUp(state.brk_end), signal_safe::PageUp(world.plan->brk_end)};
}

}  // namespace

void MapAnew(uint64_t start, uint64_t end, int protection) {
  Raw(SYS_mmap, start, end - start, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

const plan::EntryState* EntryStateOf(const plan::Frame& frame) {
  return frame.entry_state.count ? TableOf<plan::EntryState>(frame.entry_state).first : nullptr;
}

void PutEntryState(const plan::EntryState& state) {
  for (const plan::Range& range : TableOf<plan::Range>(state.mappings)) {
    Raw(SYS_mprotect, range.start, range.end - range.start, PROT_READ | PROT_WRITE);
  }
  if (LeftOut("entry_state")) return;
  for (const plan::Run& run : TableOf<plan::Run>(state.memory)) {
    if (run.module < 0) {
      Put(run.address, run, 0, run.size);
    } else {
      PutModulePages(run);
    }
  }
}

void FreeHeapBeyond(const plan::EntryState& state) {
  const Range heap = HeapBeyond(state);
  if (heap.start < heap.end && !LeftOut("entry_heap")) Raw(SYS_munmap, heap.start, heap.end - heap.start);
}

void TakeEntryStateAway(const plan::EntryState& state) {
  const Range heap = HeapBeyond(state);
  if (heap.start < heap.end) MapAnew(heap.start, heap.end, PROT_READ | PROT_WRITE);
  // Pages that the report does not have are zero at the crash. The call may have unmapped them: no access here.
  for (const plan::Run& run : TableOf<plan::Run>(state.memory)) {
    if (run.module < 0) Raw(SYS_madvise, run.address, run.size, MADV_DONTNEED);
  }
  for (const plan::Range& range : TableOf<plan::Range>(state.mappings)) MapAnew(range.start, range.end, PROT_NONE);
  FillGhosts();
}

}  // namespace recrash::replay
