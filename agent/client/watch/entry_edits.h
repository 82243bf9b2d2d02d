// Switches entries to their stubs and back, by pages.
//
// Signal-safe, by text_writer.h and system_call.h alone: the recorder calls it in the middle of the program.
#ifndef RECRASH_AGENT_CLIENT_WATCH_ENTRY_EDITS_H_
#define RECRASH_AGENT_CLIENT_WATCH_ENTRY_EDITS_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/watch/loaded_modules.h"
#include "agent/client/watch/stub.h"

namespace recrash::watch {

// Puts prefix and entry of one function into `copy`: leading to its stub, or (but for the prefix) as compiled.
RECRASH_SIGNAL_SAFE void PutEntry(const Stub& stub, bool patched, TextCopy* copy);

// `stub_at(i)`, i < count: stubs of the module's functions, ascending. Requires that the module's file is open. Pages
// near each other are changed together, for 1 us each and in one mapping; alone a page costs 8 us. Returns how many
// entries were changed.
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

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_ENTRY_EDITS_H_
