// Changes bytes of a module's code while the process runs.
//
// The pages are never writable and executable at once, and never not executable: a private copy of the same pages of
// the same file is made elsewhere, written, made read-only and executable, and moved over the old ones in one system
// call. Another thread that runs there sees the old page or the new one. What forbids executable memory that was
// written (W^X policies without mprotect, PR_SET_MDWE) refuses before anything has changed.
#ifndef RECRASH_AGENT_CLIENT_SNAPSHOT_TEXT_WRITER_H_
#define RECRASH_AGENT_CLIENT_SNAPSHOT_TEXT_WRITER_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::client {

// One executable segment, and the file behind it.
struct CodeSegment {
  uint64_t begin = 0;  // in the process
  uint64_t end = 0;
  uint64_t file_offset = 0;  // of `begin`
  int file = -1;             // open for reading; the very file that is mapped
};

struct Edit {
  uint64_t address = 0;
  const void* bytes = nullptr;
  size_t size = 0;
};

// All edits, which lie within one page of each other, or none of them.
bool WriteText(const CodeSegment& segment, const Edit* edits, size_t count);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_SNAPSHOT_TEXT_WRITER_H_
