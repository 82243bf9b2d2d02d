// All of a module's .data and .bss goes back, libc's and libstdc++'s included, so that allocator, streams, locales and
// exit handlers are the dead process's. What stays live: ld.so's data, tables that the loader bound (.got.plt).
//
// The thread is the recorded one: its control block and thread-local variables lie in restored memory, and the segment
// base is pointed there. Canary, pointer guard, tcache, thread_arena, dtv, eh_globals and stdio's lock owners are right
// by that, and no word into them has to be translated. From then on this code may use nothing that needs a thread
// control block of ours.
#include "testgen/replay/guest/restore.h"

#include <asm/prctl.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/pages.h"
#include "testgen/replay/checks/allocator.h"
#include "testgen/replay/guest/late_modules.h"
#include "testgen/replay/guest/memory.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/world.h"
#include "testgen/replay/heap/heap_chain.h"
#include "testgen/replay/place/place_traps.h"

// gdb scripts break here: `function` is what will be called next.
extern "C" __attribute__((visibility("default"), noinline)) void __recrash_before_call(void* function) {
  __asm__ volatile("" : : "r"(function) : "memory");
}

namespace recrash::replay {
namespace {

constexpr Restore& own = world.restore;

// struct pthread of glibc 2.25 to 2.41 on x86-64.
constexpr uint64_t kUsualTidOffset = 0x2d0;
constexpr uint64_t kTcbHead = 0x38;
constexpr uint64_t kDtv = 8;
constexpr uint64_t kCanary = 0x28;
constexpr uint64_t kPointerGuard = 0x30;
constexpr uint64_t kNonContiguous = 2;  // of main_arena.flags
constexpr uint64_t kArenaFlags = 4;

void ProtectSealed(int protection) {
  Raw(SYS_mprotect, own.sealed.start, own.sealed.end - own.sealed.start, protection);
}

uint64_t GetFs() {
  uint64_t base = 0;
  Raw(SYS_arch_prctl, ARCH_GET_FS, &base);
  return base;
}

bool IsRestored(const LiveModule* module) {
  return module && module->recorded && !(module->recorded->flags & (plan::kLoader | plan::kVdso)) && !module->rebuilt();
}

void PrepareModuleRuns() {
  const auto all = TableOf<plan::Run>(world.plan->runs);
  own.runs = static_cast<LiveRun*>(calloc(all.count + 1, sizeof *own.runs));
  for (const plan::Run& run : all) {
    if (run.module < 0) continue;
    const LiveModule* module = ModuleAt(run.module);
    if (!IsRestored(module) || (LeftOut("library_data") && module != ProgramModule())) continue;
    const uint64_t live = run.address - module->recorded_range.start + module->live.start;
    // The first and the last page decide: a run is cut from one mapping, all of which could be written.
    if (!IsWritable(*module, live) || !IsWritable(*module, live + run.size - 1)) continue;
    const uint64_t from = ContentOf(run);
    TranslateRange(from, run.size);
    own.runs[own.run_count++] = {module->recorded, live, from, run.size};
  }
}

void Keep(uint64_t address) {
  own.kept = static_cast<KeptWord*>(realloc(own.kept, (own.kept_count + 1) * sizeof *own.kept));
  own.kept[own.kept_count++] = {address, *Pointer<uint64_t>(address)};
}

void PrepareKeptWords() {
  for (const plan::Module& recorded : TableOf<plan::Module>(world.plan->modules)) {
    const LiveModule* module = ModuleOf(&recorded);
    if (!IsRestored(module) || LeftOut("got_plt")) continue;
    for (uint64_t at = module->got_plt.start; at < module->got_plt.end; at += sizeof(uint64_t)) Keep(at);
  }
  for (int i = 0; i < own.kept_range_count; ++i) {
    for (uint64_t at = own.kept_ranges[i].start; at + sizeof(uint64_t) <= own.kept_ranges[i].end;
         at += sizeof(uint64_t)) {
      Keep(at);
    }
  }
}

// /proc/self/stat holds what PR_SET_MM_MAP wants back unchanged beside the break.
void PrepareBreak() {
  FILE* file = fopen("/proc/self/stat", "re");
  char line[4096] = "";
  if (!file || !fgets(line, sizeof line, file)) Problem("cannot read /proc/self/stat: %s", strerror(errno));
  fclose(file);
  uint64_t field[64] = {};
  int number = 3;
  char* rest = nullptr;
  char* after_name = strrchr(line, ')');
  for (char* word = strtok_r(after_name + 1, " ", &rest); word && number < 64; word = strtok_r(nullptr, " ", &rest)) {
    field[number++] = strtoull(word, nullptr, 10);
  }
  own.memory_map.start_code = field[26];
  own.memory_map.end_code = field[27];
  own.memory_map.start_stack = field[28];
  own.memory_map.start_data = field[45];
  own.memory_map.end_data = field[46];
  own.memory_map.arg_start = field[48];
  own.memory_map.arg_end = field[49];
  own.memory_map.env_start = field[50];
  own.memory_map.env_end = field[51];
  own.memory_map.exe_fd = static_cast<uint32_t>(-1);
  own.memory_map.start_brk = field[47];
  own.memory_map.brk = Number(sbrk(0));
  own.saved_memory_map = own.memory_map;
  own.memory_map.start_brk = world.plan->brk_start;
  own.memory_map.brk = world.plan->brk_end;
  own.current_break = static_cast<uint64_t*>(dlsym(RTLD_DEFAULT, "__curbrk"));
}

void FindTidOffset() {
  const uint64_t tcb = GetFs();
  const auto tid = static_cast<int32_t>(Raw(SYS_gettid));
  if (*Pointer<int32_t>(tcb + kUsualTidOffset) == tid) {
    own.tid_offset = kUsualTidOffset;
    return;
  }
  for (uint64_t offset = 0x280; offset < 0x400; offset += sizeof tid) {
    if (*Pointer<int32_t>(tcb + offset) == tid) own.tid_offset = offset;
  }
}

// Number by which the dead process's loader knew the thread-local block of a module. Where its list of modules was not
// recorded, the same modules are taken to have been loaded in the same order.
size_t RecordedTlsId(const LiveModule& module) {
  if (module.recorded->tls_id) return module.recorded->tls_id;
  size_t id = module.tls_id;
  for (const LiveModule& before : AllModules()) {
    if (&before == &module) break;
    if (!before.rebuilt()) continue;
    if (before.tls_size > 0) --id;
    if (before.recorded->tls_size > 0) ++id;
  }
  return id;
}

void AddTlsCopy(uint64_t live, uint64_t from, uint64_t size) {
  if (own.tls_copy_count == kMostTlsCopies) Problem("more than %d thread-local variables have moved", kMostTlsCopies);
  own.tls_copies[own.tls_copy_count++] = {live, from, size};
}

// Thread-local variables are reached by fixed offsets from the control block. These are the dead process's unless a
// module was built anew with others: then the live block is filled instead of being left.
void PrepareTls() {
  uint64_t dtv = 0;
  if (!ReadRecorded(world.plan->fs_base + kDtv, &dtv, sizeof dtv)) return;
  const uint64_t live_fs = GetFs();
  for (const plan::Module& recorded : TableOf<plan::Module>(world.plan->modules)) {
    const LiveModule* module = ModuleOf(&recorded);
    if (!module) continue;
    const bool moved = module->rebuilt() && (recorded.moved_thread_locals || module->tls_size != recorded.tls_size);
    if (moved) own.tls_moved = true;
    uint64_t block = 0;
    if (module->tls_id == 0 || module->tls_block == 0) continue;
    if (!ReadRecorded(dtv + RecordedTlsId(*module) * 16, &block, sizeof block) || block + 1 <= 1) continue;
    if (moved) {
      for (const plan::ThreadLocal& variable : TableOf<plan::ThreadLocal>(recorded.thread_locals)) {
        if (variable.new_offset + variable.size <= module->tls_size)
          AddTlsCopy(module->tls_block + variable.new_offset, block + variable.offset, variable.size);
      }
      continue;
    }
    if (live_fs - module->tls_block != world.plan->fs_base - block && module->tls_block < live_fs) own.tls_moved = true;
    AddTlsCopy(module->tls_block, block, module->tls_size);
  }
}

// The thread's control block must have been kept: it begins with its own address.
void CheckThread() {
  uint64_t self = 0;
  if (world.plan->fs_base == 0 || !ReadRecorded(world.plan->fs_base, &self, sizeof self) ||
      self != world.plan->fs_base) {
    Problem("the report does not hold the failing thread's control block (at 0x%llx); nothing can be replayed",
            static_cast<unsigned long long>(world.plan->fs_base));
  }
}

// ---- In the child ------------------------------------------------------------------------------------------------

bool RestoreBreak(const plan::EntryState* entry_state) {
  if (world.plan->brk_start == 0 || LeftOut("brk")) return false;
  own.memory_map.brk = entry_state ? entry_state->brk_end : world.plan->brk_end;
  return Raw(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &own.memory_map, sizeof own.memory_map, 0) == 0;
}

void RestoreModules(const plan::EntryState* entry_state) {
  for (size_t i = 0; i < own.run_count; ++i) {
    if (!IsLate(entry_state, own.runs[i].module)) Copy(own.runs[i].live, own.runs[i].from, own.runs[i].size);
  }
  if (entry_state) PutEntryState(*entry_state);
  for (size_t i = 0; i < own.kept_count; ++i) *Pointer<uint64_t>(own.kept[i].address) = own.kept[i].value;
}

// Named objects take their old contents over to the new build.
void RestoreRebuilt(const LiveModule& module) {
  for (const plan::Symbol& symbol : TableOf<plan::Symbol>(module.recorded->symbols)) {
    const uint64_t size = symbol.size < symbol.new_size ? symbol.size : symbol.new_size;
    if (!(symbol.flags & plan::kCopied) || size == 0) continue;
    const uint64_t live = module.live.start + symbol.new_offset;
    if (!IsWritable(module, live)) continue;
    Copy(live, module.ghost + symbol.offset, size);
  }
}

// Where the kernel refuses to move the break, malloc must not take the live one for the end of its heap.
void DetachBreak(uint64_t live_break) {
  if (own.current_break) *own.current_break = live_break;
  if (world.plan->main_arena == 0 || LeftOut("noncontiguous")) return;
  *Pointer<uint32_t>(ToLive(world.plan->main_arena) + kArenaFlags) |= kNonContiguous;
}

void ApplyPatches(const plan::Array& patches) {
  for (const plan::Patch& patch : TableOf<plan::Patch>(patches)) {
    Copy(ToLive(patch.address), Number(world.bytes + patch.offset), patch.size);
  }
}

void EnterRecordedThread() {
  uint64_t thread = world.plan->fs_base;
  if (LeftOut("thread")) return;
  if (own.tls_moved) {
    thread = GetFs();
    for (int i = 0; i < own.tls_copy_count; ++i)
      Copy(own.tls_copies[i].live, own.tls_copies[i].from, own.tls_copies[i].size);
    Copy(thread + kCanary, world.plan->fs_base + kCanary, sizeof(uint64_t));
    Copy(thread + kPointerGuard, world.plan->fs_base + kPointerGuard, sizeof(uint64_t));
  } else {
    Raw(SYS_arch_prctl, ARCH_SET_FS, thread);
  }
  ForEachRebuilt([](const LiveModule& module) {
    if (module.recorded->not_carried) NoteAbsent(TextOf(module.recorded->not_carried));
  });
  if (own.tid_offset) *Pointer<int32_t>(thread + own.tid_offset) = static_cast<int32_t>(Raw(SYS_gettid));
}

void RestoreMemory(const PreparedCall& call) {
  const uint64_t live_break = own.current_break ? *own.current_break : 0;
  const bool moved = RestoreBreak(call.entry_state);
  RestoreModules(call.entry_state);
  if (moved && call.entry_state) FreeHeapBeyond(*call.entry_state);
  ForEachRebuilt([&](const LiveModule& module) {
    if (!IsLate(call.entry_state, module.recorded)) RestoreRebuilt(module);
  });
  if (!moved) DetachBreak(live_break);
  if (world.runtime.abort_message_slot) *world.runtime.abort_message_slot = nullptr;
  // What is kept of a throw came later than the entry; but where only copies are of the entry, what is under them is of
  // the crash.
  const bool is_of_crash = !call.entry_state || call.entry_state->copied_depth != 0;
  if (is_of_crash) ApplyPatches(world.plan->patches);
  if (is_of_crash && call.entry_state) PutEntryState(*call.entry_state);
  ApplyPatches(call.variables);
  ApplyPatches(world.plan->unlocks);
  EnterRecordedThread();
  if (is_of_crash) RestoreExceptionState();
  ApplyPatches(call.fields);
  for (int i = 0; i < call.stack_count; ++i) {
    Copy(call.stack[i].address, Number(call.stack[i].bytes), call.stack[i].size);
  }
}

// Joins what follows the piece before.
void Save(uint64_t address, uint64_t size) {
  Piece* last = own.saved_count ? &own.saved[own.saved_count - 1] : nullptr;
  if (last && last->live + last->size == address) {
    last->size += size;
  } else if (own.saved_count < kMostSaved) {
    own.saved[own.saved_count++] = {address, 0, size};
  }
}

// A tracer that comes now finds memory as the function will find it.
void AwaitTracer(plan::Slot* slot) {
  __atomic_store_n(&slot->held, 1, __ATOMIC_RELEASE);
  Raw(SYS_futex, &slot->held, FUTEX_WAKE, 1);
  while (!__atomic_load_n(&slot->go, __ATOMIC_ACQUIRE)) Raw(SYS_futex, &slot->go, FUTEX_WAIT, 0, 0);
}

}  // namespace

bool ReadRecorded(uint64_t address, void* out, uint64_t size) {
  for (const plan::Run& run : TableOf<plan::Run>(world.plan->runs)) {
    if (address < run.address || address + size > run.address + run.size) continue;
    Copy(Number(out), ContentOf(run) + (address - run.address), size);
    return true;
  }
  return false;
}

void PrepareRestore() {
  CheckThread();
  for (const plan::Patch& patch : TableOf<plan::Patch>(world.plan->patches)) {
    if (patch.address % sizeof(uint64_t) == 0) TranslateRange(Number(world.bytes + patch.offset), patch.size);
  }
  PrepareModuleRuns();
  PrepareKeptWords();
  PrepareBreak();
  FindTidOffset();
  PrepareTls();
}

void SaveLive() {
  own.saved_count = 0;
  own.saved_fs = GetFs();
  own.saved_memory_map.brk = Number(sbrk(0));
  Save(own.saved_fs, kTcbHead);
  for (int i = 0; own.tls_moved && i < own.tls_copy_count; ++i) Save(own.tls_copies[i].live, own.tls_copies[i].size);
  for (const plan::Module& recorded : TableOf<plan::Module>(world.plan->modules)) {
    const LiveModule* module = ModuleOf(&recorded);
    if (!module || (recorded.flags & (plan::kLoader | plan::kVdso))) continue;
    for (uint64_t page = module->live.start; page < module->live.end; page += plan::kPageSize) {
      if (IsWritable(*module, page)) Save(page, plan::kPageSize);
    }
  }
  for (int i = 0; i < own.saved_count; ++i) {
    void* copy = mmap(nullptr, own.saved[i].size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) Problem("cannot put the process's own memory aside: %s", strerror(errno));
    own.saved[i].from = Number(copy);
    Copy(own.saved[i].from, own.saved[i].live, own.saved[i].size);
  }
}

void PutLiveBack() {
  ProtectSealed(PROT_READ | PROT_WRITE);
  Raw(SYS_arch_prctl, ARCH_SET_FS, own.saved_fs);
  for (int i = 0; i < own.saved_count; ++i) Copy(own.saved[i].live, own.saved[i].from, own.saved[i].size);
  Raw(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &own.saved_memory_map, sizeof own.saved_memory_map, 0);
  world.restored = false;
  for (int i = 0; i < own.saved_count; ++i) munmap(Pointer<void>(own.saved[i].from), own.saved[i].size);
}

namespace {

bool IsReadable(uint64_t address) {
  constexpr int kNoOperation = -1;  // refused after the set was read
  return Raw(SYS_rt_sigprocmask, kNoOperation, address, 0, sizeof(uint64_t)) != -EFAULT;
}

}  // namespace

// Heads of chunks do not cross pages.
bool ReadLiveWord(uint64_t address, uint64_t* word) {
  if (signal_safe::PageDown(address) != own.readable_page && !IsReadable(address)) return false;
  own.readable_page = signal_safe::PageDown(address);
  *word = *Pointer<const volatile uint64_t>(address);
  return true;
}

namespace {

// Only another build may return where the recorded one failed, and only there is it asked for.
HeapChain FollowLiveHeap(const PreparedCall& call) {
  own.readable_page = 0;
  if (!Has(plan::kRebuilt) || world.touched) return {};
  return FollowHeap(world.plan->brk_start, call.entry_state ? call.entry_state->brk_end : world.plan->brk_end,
                    ReadLiveWord);
}

void NoteOverrun(const HeapChain& heap) {
  own.readable_page = 0;
  world.run.observed->overrun = FindOverrun(heap, static_cast<uint64_t>(Raw(SYS_brk, 0)), ReadLiveWord);
}

// A word of the recorded heap, whenever the program frees a block of it.
bool ReadHeadWord(uint64_t address, uint64_t* word) {
  if (!IsReadable(address)) return false;
  *word = *Pointer<const volatile uint64_t>(address);
  return true;
}

// Before memory that the report does not have is put where a look would be noticed.
void AnnounceRecordedBlocks(const PreparedCall& call) {
  RecordedBlocks& blocks = world.blocks;
  if (!blocks.shadowed || world.touched) return;
  // In place, marks of the call before are there still.
  for (const plan::Mapping& mapping : TableOf<plan::Mapping>(world.plan->mappings)) {
    if (Has(plan::kInProcess) && mapping.kind == plan::MappingKind::kMemory)
      ClearMarks(blocks, mapping.start, mapping.end);
  }
  blocks.arena_count = 0;
  own.readable_page = 0;
  SetArena(&blocks, world.plan->brk_start, call.entry_state ? call.entry_state->brk_end : world.plan->brk_end,
           world.plan->main_arena ? ToLive(world.plan->main_arena) : 0);
  for (const plan::Patch& arena : TableOf<plan::Patch>(world.plan->unlocks)) {
    if (arena.address != world.plan->main_arena) SetThreadsArena(&blocks, arena.address, ReadLiveWord);
  }
  AnnounceBlocks(&blocks, call.entry_state && call.entry_state->copied_depth == 0, ReadLiveWord);
}

[[noreturn]] void GiveUpPlace() {
  world.run.observed->place.known = false;
  ExitNow(0);
}

bool IsReturnAddress(uint64_t address) {
  constexpr uint64_t kWord = 8;
  const uint64_t entry_sp = world.run.call.state.sp - kWord;
  if (address - entry_sp < kWord) return true;
  for (const plan::Frame& frame : TableOf<plan::Frame>(world.plan->frames))
    if (!frame.inlined && frame.entry_sp > entry_sp && address - frame.entry_sp < kWord) return true;
  return false;
}

void WatchPlace(const PreparedCall& call) {
  const plan::EntryState* state = call.entry_state;
  TrapOptions options = {};
  options.live = [](uint32_t module, uint64_t offset) -> uint64_t {
    const LiveModule* live = ModuleAt(static_cast<int32_t>(module));
    return live && offset < live->live.end - live->live.start ? live->live.start + offset : 0;
  };
  options.stack_start = world.plan->stack_start;
  options.stack_end = call.state.sp;
  options.is_return_address = IsReturnAddress;
  options.uses_heap = world.runtime.has_usual_heap;
  options.seen = &world.run.observed->place;
  options.heap = {world.runtime.heap_functions, 0, 0, 0, ReadLiveWord, GiveUpPlace};
  // Where only copies of objects were put over the memory of the crash, its lists are not those of the entry.
  if (!state || state->copied_depth == 0) {
    options.heap.heap_start = world.plan->brk_start;
    options.heap.heap_end = state ? state->brk_end : world.plan->brk_end;
    options.heap.main_arena = world.plan->main_arena ? ToLive(world.plan->main_arena) : 0;
  }
  own.readable_page = 0;
  SetPlaceTraps(world.place, options);
}

}  // namespace

void PrepareBlocks() {
  if (Has(plan::kRebuilt) && !LeftOut("blocks"))
    FindAllocator(&world.blocks, FindInRuntime, {IsRecordedMemory, ReadHeadWord, NoteBadBlock});
}

void RestoreAndCall(PreparedCall& call) {
  AwaitLateModules(call.entry_state);
  RestoreMemory(call);
  TakeWatchedAway();
  AnnounceRecordedBlocks(call);
  PlaceAbsent();
  world.restored = true;
  if (!RewindStreams(call.streams, call.stream_count, call.state)) return;
  if (!LeftOut("seal")) ProtectSealed(PROT_READ);
  if (!PutGiven()) return;
  PutExperiment(&call);
  if (Has(plan::kInProcess)) __recrash_before_call(Pointer<void>(call.state.function));
  if (call.held) {
    AwaitTracer(call.held);
    UnshareWithTool();
  }
  const HeapChain heap = FollowLiveHeap(call);
  if (world.run.checks_place) WatchPlace(call);
  recrash_call(&call.state);
  if (!HasEnded()) NoteOverrun(heap);
}

}  // namespace recrash::replay

// The agent in the program says at its start which memory holds what it knows of this process.
extern "C" __attribute__((visibility("default"))) void __recrash_replay_keep(void* start, size_t size) {
  using namespace recrash::replay;
  const uint64_t address = Number(start);
  if (own.kept_range_count < kMostKeptRanges) own.kept_ranges[own.kept_range_count++] = {address, address + size};
}

// ... and which pages of it are read-only from its start to a crash.
extern "C" __attribute__((visibility("default"))) void __recrash_replay_seal(void* start, size_t size) {
  using namespace recrash::replay;
  own.sealed = {Number(start), Number(start) + size};
}
