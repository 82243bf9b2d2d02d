// Nothing here needs libc: it runs between two processes' data (raw.h).
#include "testgen/replay/guest/entry_state.h"

#include <sys/mman.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/memory.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

uint64_t PageEnd(uint64_t address) { return (address + plan::kPageSize - 1) & ~(plan::kPageSize - 1); }

void Put(uint64_t to, const plan::Run& run, uint64_t offset, uint64_t size) {
  Copy(to, ContentOf(run) + offset, size);
  TranslateRange(to, size);
}

// Of a module's pages those that stay writable: the loader's work on the others is this process's own.
void PutModulePages(const plan::Run& run) {
  const LiveModule* module = ModuleOf(&TableOf<plan::Module>(world.plan->modules)[static_cast<size_t>(run.module)]);
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

void MapAnew(uint64_t start, uint64_t end, int protection) {
  Raw(SYS_mmap, start, end - start, static_cast<uint64_t>(protection),
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, static_cast<uint64_t>(-1), 0);
}

}  // namespace

const plan::EntryState* EntryStateOf(const plan::Frame& frame) {
  return frame.entry_state.count ? TableOf<plan::EntryState>(frame.entry_state).first : nullptr;
}

void PutEntryState(const plan::EntryState& state) {
  for (const plan::Range& range : TableOf<plan::Range>(state.mappings)) {
    Raw(SYS_mprotect, range.start, range.end - range.start, PROT_READ | PROT_WRITE);
  }
  if (LeftOut("entry_state")) return;
  for (const plan::Run& run : TableOf<plan::Run>(state.runs)) {
    if (run.module < 0) {
      Put(run.address, run, 0, run.size);
    } else {
      PutModulePages(run);
    }
  }
}

void FreeHeapBeyond(const plan::EntryState& state) {
  const uint64_t from = PageEnd(state.brk_end);
  const uint64_t to = PageEnd(world.plan->brk_end);
  if (from < to && !LeftOut("entry_heap")) Raw(SYS_munmap, from, to - from);
}

void TakeEntryStateAway(const plan::EntryState& state) {
  const uint64_t from = PageEnd(state.brk_end);
  const uint64_t to = PageEnd(world.plan->brk_end);
  if (from < to) MapAnew(from, to, PROT_READ | PROT_WRITE);
  // Pages that the report does not have are zero at the crash. The call may have unmapped them: no access here.
  for (const plan::Run& run : TableOf<plan::Run>(state.runs)) {
    if (run.module < 0) Raw(SYS_madvise, run.address, run.size, MADV_DONTNEED);
  }
  for (const plan::Range& range : TableOf<plan::Range>(state.mappings)) MapAnew(range.start, range.end, PROT_NONE);
  FillGhosts();
}

}  // namespace recrash::replay
