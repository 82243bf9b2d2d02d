#include "agent/client/watch/text_writer.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/system_call.h"

namespace recrash::watch {
namespace {

using signal_safe::Call;
using signal_safe::PageDown;
using signal_safe::PageUp;

}  // namespace

TextCopy::~TextCopy() {
  if (copy_ != 0) Call(SYS_munmap, copy_, size_);
}

bool TextCopy::Begin(const CodeSegment& segment, uint64_t begin, uint64_t end) {
  begin_ = PageDown(begin);
  size_ = PageUp(end) - begin_;
  if (begin_ < segment.begin || PageUp(end) > PageUp(segment.end) || begin >= end) return false;
  // All pages are written: getting them at once is cheaper than a fault for each.
  const long copy = Call(SYS_mmap, nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, segment.file,
                         segment.file_offset + (begin_ - segment.begin));
  if (copy < 0) return false;
  copy_ = static_cast<uint64_t>(copy);
  // From memory, not from the file: it has the earlier edits.
  memcpy(reinterpret_cast<void*>(copy_), reinterpret_cast<const void*>(begin_), size_);
  return true;
}

void TextCopy::Put(uint64_t address, const void* bytes, size_t size) {
  if (copy_ == 0 || address < begin_ || address - begin_ > size_ - size) return;
  memcpy(reinterpret_cast<void*>(copy_ + (address - begin_)), bytes, size);
}

bool TextCopy::Commit() {
  if (copy_ == 0 || Call(SYS_mprotect, copy_, size_, PROT_READ | PROT_EXEC) != 0 ||
      Call(SYS_mremap, copy_, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, begin_) < 0)
    return false;
  copy_ = 0;
  return true;
}

}  // namespace recrash::watch
