// In three steps, so that whatever refuses does so before the program has changed: the profile's lines become entries
// (profiled_entries.cc), the entries stubs, and only when the stubs are executable does the code lead to them.
#include "agent/client/snapshot/patcher.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/client/client.h"
#include "agent/client/snapshot/profiled_entries.h"
#include "agent/client/snapshot/stub_area.h"

namespace recrash::client {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kMostAreas = 64;

// What the crash path asks: numbers only, so that a program that overwrites them gets a wrong place and nothing worse.
struct Areas {
  size_t count;
  StubArea area[kMostAreas];
};
Areas g_areas;

Stub* StubHolding(uint64_t address) {
  for (size_t i = 0; i < g_areas.count && i < kMostAreas; ++i)
    if (Stub* stub = g_areas.area[i].Holding(address)) return stub;
  return nullptr;
}

// /proc/PID/task has two links and one for each thread.
bool OtherThreads() {
  const int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  const bool alone = tasks >= 0 && fstat(tasks, &status) == 0 && status.st_nlink == 3;
  if (tasks >= 0) close(tasks);
  return !alone;
}

// The stub that the prefix of an entry leads to already.
Stub* ExistingStub(uint64_t entry) {
  uint8_t prefix[kJumpSize];
  memcpy(prefix, reinterpret_cast<const void*>(entry - abi::kEntryPrefixSize), sizeof prefix);
  if (prefix[0] != 0xe9) return nullptr;
  int32_t distance = 0;
  memcpy(&distance, prefix + 1, sizeof distance);
  Stub* stub = StubHolding(entry - abi::kEntryPrefixSize + kJumpSize + static_cast<uint64_t>(int64_t{distance}));
  return stub != nullptr && stub->entry == entry ? stub : nullptr;
}

// The changes of one page of code, written together.
class PageEdits {
 public:
  explicit PageEdits(PatchCounts* counts) : counts_(counts) {}

  // Prefix and entry of one function.
  void Add(const CodeSegment& segment, const Stub& stub, bool patch) {
    const uint64_t prefix = stub.entry - abi::kEntryPrefixSize, entry = stub.entry + stub.skipped;
    const uint64_t page = prefix & ~(kPage - 1);
    if (used_ != 0 && (page != page_ || &segment != segment_ || used_ == kMost)) Write();
    page_ = page;
    segment_ = &segment;
    Bytes& bytes = bytes_[used_];
    PrefixJump({reinterpret_cast<const uint8_t*>(stub.entry), 0, false}, reinterpret_cast<uint64_t>(&stub),
               bytes.prefix);
    EntryJump(stub, bytes.entry);
    if (!patch) CompiledEntry(stub, bytes.entry);
    edits_[2 * used_] = {prefix, bytes.prefix, sizeof bytes.prefix};
    edits_[2 * used_ + 1] = {entry, bytes.entry, sizeof bytes.entry};
    ++used_;
    // One that reaches into the next page is written alone.
    if (((entry + kShortJumpSize - 1) & ~(kPage - 1)) != page) Write();
  }

  void Write() {
    if (used_ == 0) return;
    if (WriteText(*segment_, edits_, 2 * used_))
      counts_->patched += static_cast<uint32_t>(used_);
    else
      counts_->refused[static_cast<size_t>(Refusal::kForbidden)] += static_cast<uint32_t>(used_);
    used_ = 0;
  }

 private:
  static constexpr size_t kMost = 16;

  struct Bytes {
    uint8_t prefix[kJumpSize];
    uint8_t entry[kShortJumpSize];
  };

  // What the short jump overwrote: copied to the stub as it was (a displacement is never among the first two bytes), or
  // the opcode of a call behind a push.
  static void CompiledEntry(const Stub& stub, uint8_t (&out)[kShortJumpSize]) {
    out[0] = stub.code[0];
    out[1] = stub.copied >= kShortJumpSize ? stub.code[1] : 0xe8;
  }

  PatchCounts* counts_;
  const CodeSegment* segment_ = nullptr;
  uint64_t page_ = 0;
  size_t used_ = 0;
  Bytes bytes_[kMost];
  Edit edits_[2 * kMost];
};

// The entries of one module, sorted.
class ModulePatch {
 public:
  ModulePatch(LoadedModule* module, const uint64_t* entries, size_t count, bool other_threads, PatchCounts* counts)
      : module_(module), entries_(entries), count_(count), other_threads_(other_threads), counts_(counts) {}

  void Run() {
    if (!OpenFile(module_)) return Refuse(Refusal::kNoFile, count_);
    PageEdits edits(counts_);
    // Those that were patched before and taken back have their stubs.
    for (size_t i = 0; i < count_; ++i)
      if (Stub* stub = Existing(entries_[i])) edits.Add(*module_->SegmentOf(stub->entry, 1), *stub, true);
    edits.Write();
    StubArea area = MakeStubs();
    if (area.count == 0) return;
    const auto made = area.count;
    if (!SealStubs(&area)) return Refuse(Refusal::kForbidden, made);
    g_areas.area[g_areas.count++] = area;
    for (size_t i = 0; i < area.count; ++i) edits.Add(*module_->SegmentOf(area.stubs[i].entry, 1), area.stubs[i], true);
    edits.Write();
  }

 private:
  void Refuse(Refusal refusal, size_t count) {
    counts_->refused[static_cast<size_t>(refusal)] += static_cast<uint32_t>(count);
  }

  // With room for prefix and entry around it.
  bool InCode(uint64_t entry) const {
    return module_->SegmentOf(entry - abi::kEntryPrefixSize, abi::kEntryPrefixSize + 2) != nullptr;
  }

  Stub* Existing(uint64_t entry) const { return InCode(entry) ? ExistingStub(entry) : nullptr; }

  StubArea MakeStubs() {
    StubArea area;
    if (g_areas.count < kMostAreas) area = MakeStubArea(module_->begin, module_->end, count_);
    if (area.capacity == 0) return Refuse(Refusal::kNoMemory, count_), area;
    const FrameTable functions(module_->frame_table, module_->frame_table_size,
                               reinterpret_cast<uint64_t>(module_->frame_table));
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
    return MakeStub(function, reinterpret_cast<uint64_t>(stub), area.slot(), stub);
  }

  LoadedModule* module_;
  const uint64_t* entries_;
  size_t count_;
  bool other_threads_;
  PatchCounts* counts_;
};

void PatchEntries(ProfiledEntries& entries, PatchCounts* counts) {
  const bool other_threads = OtherThreads();
  for (size_t i = 0; i < entries.count();) {
    LoadedModule* module = entries.ModuleOf(i);
    size_t end = i + 1;
    while (end < entries.count() && entries.ModuleOf(end) == module) ++end;
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

void UnpatchAll() {
  ProfiledEntries modules;
  if (g_areas.count == 0 || !modules.ListLoaded()) return;
  PatchCounts counts;
  for (size_t i = 0; i < g_areas.count; ++i) {
    const StubArea& area = g_areas.area[i];
    PageEdits edits(&counts);
    for (size_t k = 0; k < area.count; ++k) {
      LoadedModule* module = modules.ModuleAt(area.stubs[k].entry);
      if (module == nullptr || !OpenFile(module)) continue;
      edits.Add(*module->SegmentOf(area.stubs[k].entry, 1), area.stubs[k], false);
    }
    edits.Write();
  }
}

uint64_t CompiledPc(uint64_t pc) {
  const Stub* stub = StubHolding(pc);
  return stub != nullptr ? CompiledAddress(*stub, pc) : pc;
}

}  // namespace recrash::client
