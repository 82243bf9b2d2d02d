// Patches in three steps, so that all refusals come before the program has changed: the profile's lines become entries
// (profiled_entries.cc), the entries get stubs, and only once the stubs are executable the code leads to them.
#include "agent/client/watch/patcher.h"

#include <string.h>
#include <unistd.h>

#include "agent/base/signal_safe/other_threads.h"
#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/watch/profiled_entries.h"
#include "agent/client/watch/stub_area.h"
#include "agent/client/watch/trampoline.h"

namespace recrash::watch {
namespace {

using abi::CodeRange;
using abi::FrameTable;
using signal_safe::Call;

constexpr size_t kMostAreas = 64;

// Stubs, and the module whose entries lead to them. The crash path reads only numbers from it: if the program
// overwrites them, it gets a wrong place and nothing worse.
struct Area {
  StubArea stubs;
  // A LoadedModule with its file closed. It is kept as bytes: a constructor of it would run after the client's
  // start-up, which is the program's earliest constructor, and erase what start-up has put here.
  alignas(LoadedModule) uint8_t module[sizeof(LoadedModule)];
};
size_t g_area_count;
Area g_areas[kMostAreas];
uint32_t g_writing;  // one at a time: an edit made beside another one would be lost

class Writing {
 public:
  // `wait`: in normal context. The recorder does not wait, but tries another time.
  RECRASH_SIGNAL_SAFE explicit Writing(bool wait) {
    while (!(mine_ = __atomic_exchange_n(&g_writing, 1, __ATOMIC_ACQUIRE) == 0) && wait) Call(SYS_sched_yield);
  }
  RECRASH_SIGNAL_SAFE ~Writing() {
    if (mine_) __atomic_store_n(&g_writing, 0, __ATOMIC_RELEASE);
  }
  bool mine() const { return mine_; }

 private:
  bool mine_ = false;
};

size_t AreaCount() {
  const size_t count = __atomic_load_n(&g_area_count, __ATOMIC_ACQUIRE);
  return count < kMostAreas ? count : kMostAreas;
}

Stub* StubHolding(uint64_t address) {
  for (size_t i = 0; i < AreaCount(); ++i)
    if (Stub* stub = g_areas[i].stubs.Holding(address)) return stub;
  return nullptr;
}

// Returns the stub that the prefix of an entry leads to already, or null.
Stub* ExistingStub(uint64_t entry) {
  uint8_t prefix[kJumpSize];
  memcpy(prefix, reinterpret_cast<const void*>(entry - abi::kEntryPrefixSize), sizeof prefix);
  if (prefix[0] != 0xe9) return nullptr;
  int32_t distance = 0;
  memcpy(&distance, prefix + 1, sizeof distance);
  Stub* stub = StubHolding(entry - abi::kEntryPrefixSize + kJumpSize + static_cast<uint64_t>(int64_t{distance}));
  return stub != nullptr && stub->entry == entry ? stub : nullptr;
}

// The prefix stays: as long as the entry is as it was compiled, nothing runs it.
RECRASH_SIGNAL_SAFE void PutEntry(const Stub& stub, bool patched, TextCopy* copy) {
  uint8_t prefix[kJumpSize], entry[kShortJumpSize];
  PrefixJump(stub, prefix);
  EntryCode(stub, patched, entry);
  copy->Put(stub.entry - abi::kEntryPrefixSize, prefix, sizeof prefix);
  copy->Put(stub.entry + stub.skipped, entry, sizeof entry);
}

// Switches entries to their stubs, or back to what was compiled. `stub_at(i)`, i < count: stubs of the module's
// functions, ascending. Requires that the module's file is open. Pages near each other are changed together, for 1 us
// each and in one mapping; alone a page costs 8 us. Returns how many entries were changed.
//
// Signal-safe, by text_writer.h alone: the recorder calls it in the middle of the program.
template <typename StubAt>
RECRASH_SIGNAL_SAFE size_t WriteEntries(const LoadedModule& module, size_t count, bool patched, StubAt stub_at) {
  constexpr uint64_t kNear = 16 << 10, kMostTogether = 1 << 20;
  const auto begin_of = [](const Stub& stub) { return stub.entry - abi::kEntryPrefixSize; };
  const auto end_of = [](const Stub& stub) { return stub.entry + stub.skipped + kShortJumpSize; };
  size_t written = 0;
  for (size_t i = 0; i < count;) {
    const CodeSegment* const segment = module.SegmentOf(stub_at(i).entry, 1);
    const uint64_t begin = begin_of(stub_at(i));
    uint64_t end = end_of(stub_at(i));
    size_t next = i + 1;
    for (; next < count; ++next) {
      const Stub& stub = stub_at(next);
      if (module.SegmentOf(stub.entry, 1) != segment || begin_of(stub) > end + kNear) break;
      if (end_of(stub) > begin + kMostTogether) break;
      end = end_of(stub);
    }
    TextCopy copy;
    if (segment != nullptr && copy.Begin(*segment, begin, end)) {
      for (size_t k = i; k < next; ++k) PutEntry(stub_at(k), patched, &copy);
      if (copy.Commit()) written += next - i;
    }
    i = next;
  }
  return written;
}

// The entries of one module, sorted.
class ModulePatch {
 public:
  ModulePatch(LoadedModule* module, const uint64_t* entries, size_t count, bool other_threads, PatchCounts* counts)
      : module_(module), entries_(entries), count_(count), other_threads_(other_threads), counts_(counts) {}

  void Run() {
    if (!OpenFile(module_)) return Refuse(Refusal::kNoFile, count_);
    PatchAgain();
    StubArea area = MakeStubs();
    if (area.count == 0) return;
    const auto made = area.count;
    if (!SealStubs(&area)) return Refuse(Refusal::kForbidden, made);
    Keep(area);
    CountWritten(made, WriteEntries(*module_, made, true, [&](size_t i) -> const Stub& { return area.stubs[i]; }));
  }

 private:
  void Refuse(Refusal refusal, size_t count) {
    counts_->refused[static_cast<size_t>(refusal)] += static_cast<uint32_t>(count);
  }

  void CountWritten(size_t wanted, size_t written) {
    counts_->patched += static_cast<uint32_t>(written);
    Refuse(Refusal::kForbidden, wanted - written);
  }

  void Keep(const StubArea& stubs) {
    Area& area = g_areas[g_area_count];
    area.stubs = stubs;
    LoadedModule closed = *module_;
    for (CodeSegment& segment : closed.code) segment.file = -1;
    memcpy(area.module, &closed, sizeof closed);
    __atomic_store_n(&g_area_count, g_area_count + 1, __ATOMIC_RELEASE);
  }

  // Is the entry in code, with room for its prefix?
  bool InCode(uint64_t entry) const {
    return module_->SegmentOf(entry - abi::kEntryPrefixSize, abi::kEntryPrefixSize + 2) != nullptr;
  }

  Stub* Existing(uint64_t entry) const { return InCode(entry) ? ExistingStub(entry) : nullptr; }

  // Patches entries that have their stubs already: they were patched before and taken back.
  void PatchAgain() {
    for (size_t i = 0; i < count_; ++i) {
      const Stub* stub = Existing(entries_[i]);
      if (stub == nullptr) continue;
      if (stub->several != 0 && other_threads_)
        Refuse(Refusal::kOtherThreads, 1);
      else
        CountWritten(1, WriteEntries(*module_, 1, true, [&](size_t) -> const Stub& { return *stub; }));
    }
  }

  StubArea MakeStubs() {
    StubArea area;
    size_t wanted = 0;
    for (size_t i = 0; i < count_; ++i) wanted += Existing(entries_[i]) == nullptr ? 1 : 0;
    if (wanted == 0) return area;
    if (g_area_count < kMostAreas) area = MakeStubArea(module_->begin, module_->end, wanted);
    if (area.capacity == 0) return Refuse(Refusal::kNoMemory, wanted), area;
    const FrameTable functions = module_->functions();
    for (size_t i = 0; i < count_; ++i) {
      if (Existing(entries_[i]) != nullptr) continue;
      Stub* stub = area.stubs + area.count;
      const Refusal refusal = Make(functions, entries_[i], area, stub);
      if (refusal == Refusal::kNone)
        ++area.count;
      else
        Refuse(refusal, 1);
    }
    if (area.count == 0) DropStubArea(&area);
    return area;
  }

  Refusal Make(const FrameTable& functions, uint64_t entry, const StubArea& area, Stub* stub) const {
    if (!InCode(entry)) return Refusal::kNoEntry;
    const CodeSegment& segment = *module_->SegmentOf(entry, 2);
    const CodeRange range = functions.Find(entry, segment.end);
    if (range.start != entry || range.end > segment.end) return Refusal::kNoEntry;
    const Function function = {reinterpret_cast<const uint8_t*>(entry), range.end - range.start, other_threads_};
    return MakeStub(function, area.slot(), area.counters() + area.count, stub);
  }

  LoadedModule* module_;
  const uint64_t* entries_;
  size_t count_;
  bool other_threads_;
  PatchCounts* counts_;
};

void PatchEntries(ProfiledEntries& entries, PatchCounts* counts) {
  const bool other_threads = signal_safe::HasOtherThreads();
  const Writing writing(/*wait=*/true);
  for (size_t i = 0; i < entries.count();) {
    LoadedModule* module = entries.ModuleOf(i);
    size_t end = i + 1;
    while (end < entries.count() && module->SegmentOf(entries.addresses()[end], 1) != nullptr) ++end;
    ModulePatch(module, entries.addresses() + i, end - i, other_threads, counts).Run();
    i = end;
  }
}

}  // namespace

ProfileRead PatchProfiled(const char* profile, PatchCounts* counts) {
  ProfiledEntries entries;
  const ProfileRead read = entries.Read(profile, counts);
  if (read == ProfileRead::kRead) PatchEntries(entries, counts);
  return read;
}

void PatchAll(PatchCounts* counts) {
  ProfiledEntries entries;
  if (entries.FindAll(counts)) PatchEntries(entries, counts);
}

void UnpatchAll() {
  ProfiledEntries modules;
  if (g_area_count == 0 || !modules.ListLoaded()) return;
  const Writing writing(/*wait=*/true);
  for (size_t i = 0; i < g_area_count; ++i) {
    const StubArea& area = g_areas[i].stubs;
    LoadedModule* module = modules.ModuleAt(area.stubs[0].entry);
    if (module == nullptr || !OpenFile(module)) continue;
    WriteEntries(*module, area.count, false, [&](size_t k) -> const Stub& { return area.stubs[k]; });
  }
}

namespace {

const Area* AreaOfCounter(uint64_t counter) {
  for (size_t i = 0; i < AreaCount(); ++i)
    if (g_areas[i].stubs.CountingIn(counter) != nullptr) return &g_areas[i];
  return nullptr;
}

// Does the prefix still lead to the stub? If the module was unloaded, the kernel says so; a plain read would crash.
bool IsThere(const Stub& stub) {
  uint8_t expected[kJumpSize], found[kJumpSize];
  PrefixJump(stub, expected);
  return signal_safe::ReadOwnAnyhow(stub.entry - abi::kEntryPrefixSize, found, sizeof found) == sizeof found &&
         memcmp(expected, found, sizeof found) == 0;
}

}  // namespace

uint64_t SwitchPatchedEntries(const uint64_t* counters, size_t count, bool patched, bool alone) {
  constexpr size_t kMost = 64;
  const Writing writing(/*wait=*/false);
  uint64_t done = 0;
  for (size_t i = 0; i < count && i < kMost && writing.mine();) {
    const Area* const area = AreaOfCounter(counters[i]);
    const Stub* stubs[kMost];
    size_t picked = 0;
    uint64_t bits = 0;
    for (; i < count && i < kMost && AreaOfCounter(counters[i]) == area; ++i) {
      if (area == nullptr) continue;
      const Stub* const stub = area->stubs.CountingIn(counters[i]);
      if ((stub->several != 0 && patched && !alone) || !IsThere(*stub)) continue;
      stubs[picked++] = stub;
      bits |= uint64_t{1} << i;
    }
    if (picked == 0) continue;
    LoadedModule module;
    memcpy(&module, area->module, sizeof module);
    if (!OpenFile(&module)) continue;
    if (WriteEntries(module, picked, patched, [&](size_t k) -> const Stub& { return *stubs[k]; }) == picked)
      done |= bits;
    CloseFile(&module);
  }
  return done;
}

size_t PatchedEntries() {
  size_t count = 0;
  for (size_t i = 0; i < AreaCount(); ++i) count += g_areas[i].stubs.count;
  return count;
}

bool IsEntryCounters(uint64_t address) { return AreaOfCounter(address) != nullptr; }

CodePlace CompiledPlace(CodePlace place) {
  // Two pushes of a byte, behind the stub's call.
  const uint64_t pushes = place.pc - reinterpret_cast<uint64_t>(Trampoline());
  if (pushes < kTrampolinePushes) {
    place.sp += 8 * pushes;
    memcpy(&place.pc, reinterpret_cast<const void*>(place.sp), sizeof place.pc);
    place.pc -= 1;  // in the call
    place.sp += 8;
    if (const Stub* stub = StubHolding(place.pc)) place.pc = stub->entry;
    return place;
  }
  const Stub* stub = StubHolding(place.pc);
  return stub != nullptr ? CodePlace{CompiledAddress(*stub, place.pc), place.sp} : place;
}

}  // namespace recrash::watch
