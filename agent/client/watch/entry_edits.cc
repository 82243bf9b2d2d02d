#include "agent/client/watch/entry_edits.h"

#include "shadowstack/abi.h"

namespace recrash::watch {
namespace {

// Returns the bytes that the short jump overwrote. The stub has them unchanged (a displacement is never in the first
// two bytes), or they include the opcode of a call behind a push.
void CompiledEntry(const Stub& stub, uint8_t (&out)[kShortJumpSize]) {
  out[0] = stub.code[0];
  out[1] = stub.copied >= kShortJumpSize ? stub.code[1] : 0xe8;
}

}  // namespace

void PutEntry(const Stub& stub, bool patched, TextCopy* copy) {
  uint8_t prefix[kJumpSize], entry[kShortJumpSize];
  PrefixJump({reinterpret_cast<const uint8_t*>(stub.entry), 0, false}, reinterpret_cast<uint64_t>(&stub), prefix);
  if (patched)
    EntryJump(stub, entry);
  else
    CompiledEntry(stub, entry);
  copy->Put(stub.entry - abi::kEntryPrefixSize, prefix, sizeof prefix);
  copy->Put(stub.entry + stub.skipped, entry, sizeof entry);
}

}  // namespace recrash::watch
