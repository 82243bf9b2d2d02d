#include "agent/client/snapshot/text_writer.h"

#include <string.h>
#include <sys/mman.h>

namespace recrash::client {
namespace {

constexpr uint64_t kPage = 4096;

struct Pages {
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
};

Pages PagesOf(const Edit* edits, size_t count) {
  Pages pages;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t begin = edits[i].address & ~(kPage - 1);
    const uint64_t end = (edits[i].address + edits[i].size + kPage - 1) & ~(kPage - 1);
    if (begin < pages.begin) pages.begin = begin;
    if (end > pages.end) pages.end = end;
  }
  return pages;
}

}  // namespace

bool WriteText(const CodeSegment& segment, const Edit* edits, size_t count) {
  const Pages pages = PagesOf(edits, count);
  const uint64_t size = pages.end - pages.begin;
  if (count == 0 || pages.begin < segment.begin || pages.end > ((segment.end + kPage - 1) & ~(kPage - 1)) ||
      size > 2 * kPage)
    return false;
  const auto offset = static_cast<off_t>(segment.file_offset + (pages.begin - segment.begin));
  void* copy = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, segment.file, offset);
  if (copy == MAP_FAILED) return false;
  // From memory, not from the file: earlier edits are in it.
  memcpy(copy, reinterpret_cast<const void*>(pages.begin), size);
  for (size_t i = 0; i < count; ++i)
    memcpy(static_cast<char*>(copy) + (edits[i].address - pages.begin), edits[i].bytes, edits[i].size);
  if (mprotect(copy, size, PROT_READ | PROT_EXEC) == 0 &&
      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(pages.begin)) != MAP_FAILED)
    return true;
  munmap(copy, size);
  return false;
}

}  // namespace recrash::client
