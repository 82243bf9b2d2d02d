#include "agent/client/record/version_log.h"

#include <string.h>

#include <algorithm>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/pages.h"

namespace recrash::record {
namespace {

using signal_safe::PageUp;

uint32_t VersionsIn(uint64_t memory) { return static_cast<uint32_t>(memory / kPage); }

// Returns how many slots a table of `count` has: twice as many, so that chains of occupied slots stay short.
uint32_t SlotsFor(uint32_t count, uint32_t least) {
  uint32_t slots = least;
  while (slots < 2 * count) slots *= 2;
  return slots;
}

uint32_t PlacesFor(uint32_t functions) { return SlotsFor(functions, 1); }

// Slots of the table that leads from entries to functions.
uint32_t FirstPlace(uint64_t entry, uint32_t mask) {
  return static_cast<uint32_t>((entry * 0x9e3779b97f4a7c15ull) >> 32) & mask;
}

}  // namespace

uint64_t VersionLog::SizeFor(uint64_t memory, uint32_t functions) {
  VersionLog plan = {};
  LogHeader header = {};
  plan.at_ = reinterpret_cast<uint64_t>(&header);
  plan.Begin(&header, memory, functions);
  return header.size;
}

void VersionLog::Begin(void* at, uint64_t memory, uint32_t functions) {
  at_ = reinterpret_cast<uint64_t>(at);
  LogHeader& log = header();
  log.version = kLogVersion;
  log.header_size = sizeof log;
  log.start = at_;
  log.page_slots = SlotsFor(VersionsIn(memory), 1024);
  log.version_capacity = VersionsIn(memory);
  uint64_t offset = PageUp(sizeof log);
  const auto place = [&offset](uint64_t size) {
    const uint64_t at = offset;
    offset += PageUp(size);
    return at;
  };
  log.frames = place(kMostFrames * sizeof(LogFrame));
  log.pages = place(log.page_slots * sizeof(LogPage));
  log.versions = place((log.version_capacity + uint64_t{1}) * sizeof(LogVersion));
  log.map_lists = place(kMostMapLists * sizeof(LogMapList));
  log.file_lists = place(kMostFileLists * sizeof(LogFileList));
  log.paths = place(kMostPaths * sizeof(LogPath));
  log.function_capacity = functions;
  log.functions = place(functions * sizeof(LogFunction));
  log.places = place(PlacesFor(functions) * sizeof(uint32_t));
  log.contents = place((log.version_capacity + uint64_t{1}) * kPage);
  log.size = offset;
  next_ = 1;
  log.magic = kLogMagic;
}

// ---- Frames ------------------------------------------------------------------------------------------------------

void VersionLog::RemoveFrame(uint32_t index) {
  LogHeader& log = header();
  LogFrame& frame = frames()[index];
  --map_lists()[frame.map_list].references;
  --file_lists()[frame.file_list].references;
  GivePages(frame.copies);
  memmove(&frame, &frame + 1, (log.frame_count - index - 1) * sizeof frame);
  --log.frame_count;
}

void VersionLog::DropReturned(const StackAbove& stack) {
  for (uint32_t i = header().frame_count; i-- > 0;) {
    const LogFrame& frame = frames()[i];
    if (frame.thread == stack.thread && stack.HasReturned(frame.registers.sp, frame.return_address)) RemoveFrame(i);
  }
}

void VersionLog::KeepFew(const LogFrame& frame) {
  constexpr uint32_t kYoungest = 1;  // beside the one that will be added
  uint32_t younger = 0, last = 0;
  for (uint32_t i = header().frame_count; i-- > 0;) {
    const LogFrame& other = frames()[i];
    if (other.thread != frame.thread || other.registers.entry != frame.registers.entry) continue;
    if (younger > kYoungest) RemoveFrame(last);
    last = i;
    ++younger;
  }
}

// ---- Functions -----------------------------------------------------------------------------------------------------

// Places are taken and never given back. A place that another thread is filling belongs to that thread's function.
LogFunction* VersionLog::FunctionAt(uint64_t entry) {
  LogHeader& log = header();
  const uint32_t mask = PlacesFor(log.function_capacity) - 1;
  auto* const places = At<uint32_t>(log.places);
  for (uint32_t slot = FirstPlace(entry, mask);; slot = (slot + 1) & mask) {
    uint32_t place = __atomic_load_n(&places[slot], __ATOMIC_ACQUIRE);
    if (place == 0) {
      const uint32_t number = __atomic_fetch_add(&log.function_count, 1, __ATOMIC_RELAXED);
      if (number >= log.function_capacity) {
        __atomic_fetch_sub(&log.function_count, 1, __ATOMIC_RELAXED);
        return nullptr;
      }
      functions()[number].entry = entry;
      if (__atomic_compare_exchange_n(&places[slot], &place, number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return &functions()[number];
      functions()[number].entry = 0;  // another thread was first: this place stays empty
    }
    if (functions()[place - 1].entry == entry) return &functions()[place - 1];
  }
}

void VersionLog::DropAllFrames() {
  while (header().frame_count > 0) RemoveFrame(header().frame_count - 1);
}

void VersionLog::Add(const LogFrame& frame) {
  LogHeader& log = header();
  frames()[log.frame_count] = frame;
  ++map_lists()[frame.map_list].references;
  ++file_lists()[frame.file_list].references;
  __atomic_store_n(&log.frame_count, log.frame_count + 1, __ATOMIC_RELEASE);
}

// Is there a frame with from <= number < to? Their numbers ascend.
bool VersionLog::IsNeeded(uint64_t from, uint64_t to) const {
  const LogFrame* const end = frames() + header().frame_count;
  const auto is_older = [](const LogFrame& frame, uint64_t number) { return frame.number < number; };
  const LogFrame* const frame = std::lower_bound<const LogFrame*>(frames(), end, from, is_older);
  return frame != end && frame->number < to;
}

// ---- Versions ----------------------------------------------------------------------------------------------------

uint32_t VersionLog::Allocate() {
  LogHeader& log = header();
  uint32_t version = free_;
  if (version != 0) {
    free_ = versions()[version].older;
    --free_count_;
  } else {
    version = next_++;
  }
  const uint64_t held = next_ - 1 - free_count_;
  if (held > log.figures.most_versions) log.figures.most_versions = held;
  return version;
}

void VersionLog::Free(uint32_t version) {
  versions()[version].older = free_;
  free_ = version;
  ++free_count_;
}

uint32_t VersionLog::TakePage(uint64_t number) {
  if (header().version_capacity + 1 - next_ + free_count_ == 0) return 0;
  const uint32_t version = Allocate();
  versions()[version] = {number, 0, 0};
  return version;
}

void VersionLog::GivePages(uint32_t first) {
  if (LeftOut("give_back")) return;
  while (first != 0) {
    const uint32_t next = versions()[first].older;
    Free(first);
    first = next;
  }
}

// The newest version stays: it is the content of all snapshots to come, until the page is written again.
void VersionLog::Prune(const LogPage& page) {
  uint32_t newer = page.newest;
  while (newer != 0 && versions()[newer].older != 0) {
    const uint32_t version = versions()[newer].older;
    if (IsNeeded(versions()[version].number, versions()[newer].number)) {
      newer = version;
    } else {
      versions()[newer].older = versions()[version].older;
      Free(version);
    }
  }
}

uint32_t VersionLog::Room(uint32_t wanted) {
  const auto room = [this] { return header().version_capacity + 1 - next_ + free_count_; };
  if (room() >= wanted) return room();
  for (uint32_t slot = 0; slot < header().page_slots; ++slot) {
    if (pages()[slot].address != 0) Prune(pages()[slot]);
  }
  return room();
}

LogPage* VersionLog::FindOrAdd(uint64_t page) {
  const uint32_t mask = header().page_slots - 1;
  uint32_t slot = static_cast<uint32_t>((page / kPage * 0x9e3779b97f4a7c15ull) >> 32) & mask;
  for (;; slot = (slot + 1) & mask) {
    LogPage& found = pages()[slot];
    if (found.address == page) return &found;
    if (found.address != 0) continue;
    if (used_slots_ >= mask - mask / 8) return nullptr;
    ++used_slots_;
    found.address = page;
    return &found;
  }
}

bool VersionLog::Save(uint64_t page, uint64_t number, const void* content) {
  LogPage* const slot = FindOrAdd(page);
  if (slot == nullptr) return false;
  const uint32_t last = slot->newest;
  LogVersion* const newest = last != 0 ? &versions()[last] : nullptr;
  if (newest == nullptr && content == nullptr) return true;  // the same as a page that was never written
  if (newest != nullptr && (newest->absent != 0) == (content == nullptr) &&
      (content == nullptr || memcmp(Content(last), content, kPage) == 0))
    return true;
  // No frame needs the old content of a version that is younger than all frames. Its number changes first: a reader in
  // between takes it for that of an incomplete snapshot.
  const uint32_t frame_count = header().frame_count;
  const bool reuse = newest != nullptr && (frame_count == 0 || frames()[frame_count - 1].number < newest->number);
  const uint32_t version = reuse ? last : Allocate();
  LogVersion& saved = versions()[version];
  __atomic_store_n(&saved.number, number, __ATOMIC_RELEASE);
  saved.absent = content == nullptr;
  if (content != nullptr) memcpy(Content(version), content, kPage);
  if (reuse) return true;
  saved.older = last;
  __atomic_store_n(&slot->newest, version, __ATOMIC_RELEASE);
  Prune(*slot);
  return true;
}

}  // namespace recrash::record
