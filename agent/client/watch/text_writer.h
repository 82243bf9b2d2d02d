// Changes bytes of a module's code while the process runs.
//
// No page is ever writable and executable at once, or not executable at all. TextCopy maps the same pages of the same
// file privately elsewhere, writes them, makes them read-only and executable, and moves them over the old ones in one
// system call. A thread that runs there sees the old page or the new one. A policy that forbids executable memory that
// was written (W^X, PR_SET_MDWE) refuses before anything has changed.
//
// Signal-safe, by system_call.h alone: the recorder calls it in the middle of the program.
#ifndef RECRASH_AGENT_CLIENT_WATCH_TEXT_WRITER_H_
#define RECRASH_AGENT_CLIENT_WATCH_TEXT_WRITER_H_

#include <stddef.h>
#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::watch {

// One executable segment, and the file behind it.
struct CodeSegment {
  uint64_t begin = 0;  // in the process
  uint64_t end = 0;
  uint64_t file_offset = 0;  // of `begin`
  int file = -1;             // open for reading; the very file that is mapped
};

// A copy of some pages of a segment. Commit puts it in their place; else the destructor drops it.
class TextCopy {
 public:
  TextCopy() = default;
  TextCopy(const TextCopy&) = delete;
  TextCopy& operator=(const TextCopy&) = delete;
  RECRASH_SIGNAL_SAFE ~TextCopy();

  // Copies the pages that hold [begin, end).
  RECRASH_SIGNAL_SAFE bool Begin(const CodeSegment& segment, uint64_t begin, uint64_t end);
  // Writes to the copy of `address`; bytes outside the copied pages are left out.
  RECRASH_SIGNAL_SAFE void Put(uint64_t address, const void* bytes, size_t size);
  RECRASH_SIGNAL_SAFE bool Commit();

 private:
  uint64_t copy_ = 0;  // 0: there is none
  uint64_t begin_ = 0;
  uint64_t size_ = 0;
};

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_TEXT_WRITER_H_
