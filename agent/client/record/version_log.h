// Writes the version log (log_format.h): which content each page had at which snapshot, within a fixed number of
// versions. It does not know where pages come from; tests pass invented ones.
//
// Signal-safe. One thread at a time. A collector may read the log between any two stores, so a version is complete
// before its page points to it.
#ifndef RECRASH_AGENT_CLIENT_RECORD_VERSION_LOG_H_
#define RECRASH_AGENT_CLIENT_RECORD_VERSION_LOG_H_

#include "agent/client/record/returned_frames.h"
#include "shadowstack/abi.h"
#include "shadowstack/log_format.h"

namespace recrash::record {

class VersionLog {
 public:
  // The size of a log that holds `memory` bytes of pages and counts `functions`.
  static uint64_t SizeFor(uint64_t memory, uint32_t functions = 0);

  // Requires SizeFor(memory, functions) zero bytes at `at`.
  void Begin(void* at, uint64_t memory, uint32_t functions = 0);

  LogHeader& header() const { return *At<LogHeader>(0); }

  // Drops the frames of the thread that have returned.
  RECRASH_SIGNAL_SAFE void DropReturned(const StackAbove& stack);
  RECRASH_SIGNAL_SAFE void DropAllFrames();

  // Thins out the recursion that `frame` belongs to (its function and thread): the oldest frame stays, where a replay
  // may begin, and the two youngest, which are near the failure.
  RECRASH_SIGNAL_SAFE void KeepFew(const LogFrame& frame);

  // Returns the function's entry, or null if there is no more room. Any thread may call it at any time.
  RECRASH_SIGNAL_SAFE LogFunction* FunctionAt(uint64_t entry);

  // Returns how many pages there is room for; if fewer than `wanted`, frees versions that no frame needs first.
  RECRASH_SIGNAL_SAFE uint32_t Room(uint32_t wanted);

  // Saves what `page` holds at snapshot `number`; null: nothing is there. Requires room for it (above). Returns false
  // if the table of pages is full.
  RECRASH_SIGNAL_SAFE bool Save(uint64_t page, uint64_t number, const void* content);

  // Visits all pages that have content, to find those that a scan does not find any more.
  template <typename Function>
  RECRASH_SIGNAL_SAFE void ForEachPresent(Function function) const {
    for (uint32_t slot = 0; slot < header().page_slots; ++slot) {
      const LogPage& page = pages()[slot];
      if (page.address != 0 && page.newest != 0 && versions()[page.newest].absent == 0) function(page.address);
    }
  }

  // Takes a page for copies of snapshot `number`; 0 if none is left.
  RECRASH_SIGNAL_SAFE uint32_t TakePage(uint64_t number);
  // Gives back the pages of a chain.
  RECRASH_SIGNAL_SAFE void GivePages(uint32_t first);
  void* Content(uint32_t version) const { return At<void>(header().contents + uint64_t{version} * kPage); }
  LogVersion* versions() const { return At<LogVersion>(header().versions); }

  bool has_room_for_frame() const { return header().frame_count < kMostFrames; }
  // Adds the newest frame, once its snapshot is complete.
  RECRASH_SIGNAL_SAFE void Add(const LogFrame& frame);

  LogFrame* frames() const { return At<LogFrame>(header().frames); }
  LogFunction* functions() const { return At<LogFunction>(header().functions); }
  LogMapList* map_lists() const { return At<LogMapList>(header().map_lists); }
  LogFileList* file_lists() const { return At<LogFileList>(header().file_lists); }
  LogPath* paths() const { return At<LogPath>(header().paths); }

 private:
  template <typename T>
  T* At(uint64_t offset) const {
    return reinterpret_cast<T*>(at_ + offset);
  }
  LogPage* pages() const { return At<LogPage>(header().pages); }

  RECRASH_SIGNAL_SAFE LogPage* FindOrAdd(uint64_t page);
  RECRASH_SIGNAL_SAFE uint32_t Allocate();
  RECRASH_SIGNAL_SAFE void Free(uint32_t version);
  RECRASH_SIGNAL_SAFE bool IsNeeded(uint64_t from, uint64_t to) const;
  RECRASH_SIGNAL_SAFE void Prune(const LogPage& page);
  RECRASH_SIGNAL_SAFE void RemoveFrame(uint32_t index);

  uint64_t at_;
  uint32_t free_;  // first of the free versions
  uint32_t free_count_;
  uint32_t next_;  // the first that was never used
  uint32_t used_slots_;
};

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_VERSION_LOG_H_
