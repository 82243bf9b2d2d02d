#include "agent/client/watch/stub.h"

#include <string.h>

#include "agent/client/watch/instruction.h"
#include "shadowstack/abi.h"

namespace recrash::watch {
namespace {

constexpr size_t kMostScanned = 1 << 20;

uint64_t Address(const void* at) { return reinterpret_cast<uint64_t>(at); }

// Writes the distance from `behind` to `target` into the four bytes of `field`. Returns false if it does not fit.
bool PutDistance(uint8_t* field, uint64_t behind, uint64_t target) {
  const auto distance = static_cast<int64_t>(target - behind);
  const auto narrow = static_cast<int32_t>(distance);
  memcpy(field, &narrow, sizeof narrow);
  return narrow == distance;
}

class Builder {
 public:
  Builder(const Function& function, Stub* stub) : function_(function), stub_(stub) {
    stub->skipped = IsLandingPad(function.entry, function.size) ? 4 : 0;
    begin_ = function.entry + stub->skipped;
    available_ = function.size - stub->skipped;
  }

  // Displaces instructions until the short jump has room: one, or two if the first is a push of one byte.
  Refusal Displace() {
    while (taken_ < kShortJumpSize) {
      const uint8_t* at = begin_ + taken_;
      const Instruction next = DecodeInstruction(at, available_ - taken_, Address(at));
      if (next.size == 0) return Refusal::kUnknownInstruction;
      const Refusal refusal = next.kind == InstructionKind::kPlain                 ? Copy(next)
                              : next.kind == InstructionKind::kCall && taken_ != 0 ? EmulateCall(next)
                                                                                   : Refusal::kLeavesAtOnce;
      if (refusal != Refusal::kNone) return refusal;
      taken_ += next.size;
      ++instructions_;
    }
    stub_->displaced = static_cast<uint8_t>(taken_);
    if (!left_ && !JumpTo(Address(begin_ + taken_))) return Refusal::kTooFar;
    return Refusal::kNone;
  }

  // Only a second displaced instruction has bytes of its own that the short jump overwrites.
  bool several() const { return instructions_ > 1; }

  // Does a branch of the function lead between the displaced instructions? Reads instruction by instruction; behind an
  // unknown one every byte is taken for the beginning of an instruction.
  bool HasBranchInside() const {
    const uint8_t* end = function_.entry + (function_.size < kMostScanned ? function_.size : kMostScanned);
    bool lost = function_.size > kMostScanned;
    for (const uint8_t* at = function_.entry; at < end;) {
      const Instruction next = DecodeInstruction(at, static_cast<size_t>(end - at), Address(at));
      const bool jumps = next.kind == InstructionKind::kBranch || next.kind == InstructionKind::kCall;
      if (next.size != 0 && jumps && next.target > Address(begin_) && next.target < Address(begin_ + taken_))
        return true;
      lost = lost || next.size == 0;
      at += lost ? 1 : next.size;
    }
    return function_.size > kMostScanned;
  }

 private:
  Refusal Copy(const Instruction& instruction) {
    if (used_ + instruction.size + kJumpSize > kStubCodeSize) return Refusal::kUnknownInstruction;
    const uint8_t* from = begin_ + taken_;
    uint8_t* to = stub_->code + used_;
    memcpy(to, from, instruction.size);
    if (instruction.displacement != 0) {
      int32_t displacement = 0;
      memcpy(&displacement, from + instruction.displacement, sizeof displacement);
      if (!PutDistance(to + instruction.displacement, Address(to),
                       Address(from) + static_cast<uint64_t>(int64_t{displacement})))
        return Refusal::kTooFar;
    }
    used_ += instruction.size;
    stub_->copied = static_cast<uint8_t>(used_);
    return Refusal::kNone;
  }

  // Emulates the call of `push rax; call f`, which begins functions that keep no arguments. The return address on the
  // stack must be the one in the function, or nothing could unwind through it. So the stub stores it below the stack
  // pointer (signals leave 128 bytes there alone), and changes neither flags nor registers. Not under CET: the
  // processor would notice that no call was made.
  Refusal EmulateCall(const Instruction& call) {
    if (stub_->skipped != 0) return Refusal::kLeavesAtOnce;
    const uint64_t back = Address(begin_ + taken_ + call.size), high = back >> 32;
    uint8_t code[21] = {0xc7, 0x44, 0x24, 0xf8, 0,   0, 0, 0,  // mov dword [rsp-8], low
                        0xc7, 0x44, 0x24, 0xfc, 0,   0, 0, 0,  // mov dword [rsp-4], high
                        0x48, 0x8d, 0x64, 0x24, 0xf8};         // lea rsp, [rsp-8]
    memcpy(code + 4, &back, 4);
    memcpy(code + 12, &high, 4);
    memcpy(stub_->code + used_, code, sizeof code);
    used_ += sizeof code;
    left_ = true;
    return JumpTo(call.target) ? Refusal::kNone : Refusal::kTooFar;
  }

  bool JumpTo(uint64_t target) {
    uint8_t* jump = stub_->code + used_;
    jump[0] = 0xe9;
    if (!PutDistance(jump + 1, Address(jump + kJumpSize), target)) return false;
    used_ += kJumpSize;
    return true;
  }

  const Function& function_;
  Stub* stub_;
  const uint8_t* begin_ = nullptr;  // behind an endbr64
  size_t available_ = 0;
  size_t taken_ = 0;  // bytes of the function
  size_t used_ = 0;   // bytes of the stub's code
  int instructions_ = 0;
  bool left_ = false;  // the code ends in a jump already
};

// `slot`: of the pointer that it calls through.
bool WriteHead(const void* slot, const EntryCounter* counter, Stub* stub) {
  constexpr uint8_t kCount[] = {0xff, 0x0d, 0, 0, 0, 0, 0x79, sizeof stub->call};  // dec [rip + distance]; jns
  constexpr uint8_t kCall[] = {0xff, 0x15, 0, 0, 0, 0};                            // call [rip + distance]
  memcpy(stub->count, kCount, sizeof kCount);
  memcpy(stub->call, kCall, sizeof kCall);
  return PutDistance(stub->count + 2, Address(stub->count + 6), Address(counter)) &&
         PutDistance(stub->call + 2, Address(stub->code), Address(slot));
}

}  // namespace

const char* RefusalText(Refusal refusal) {
  static const char* const kTexts[] = {
      "",
      "no function begins there",
      "not compiled with -recrash-mode=second-chance",
      "begins with an unknown instruction",
      "jumps, calls or returns at once",
      "branches into its first instructions",
      "reaches too far from its stub",
      "other threads are running",
      "the file of its module has gone",
      "no room near the module",
      "the system does not let code be changed",
  };
  static_assert(sizeof kTexts / sizeof *kTexts == static_cast<size_t>(Refusal::kCount));
  return refusal < Refusal::kCount ? kTexts[static_cast<size_t>(refusal)] : "";
}

Refusal MakeStub(const Function& function, const void* slot, const EntryCounter* counter, Stub* stub) {
  const uint8_t* prefix = function.entry - abi::kEntryPrefixSize;
  if (memcmp(prefix, abi::kEntryPrefix, sizeof abi::kEntryPrefix) != 0) return Refusal::kNoPrefix;
  memset(stub, 0, sizeof *stub);
  Builder builder(function, stub);
  if (const Refusal refusal = builder.Displace(); refusal != Refusal::kNone) return refusal;
  if (builder.several()) {
    if (function.other_threads) return Refusal::kOtherThreads;
    const bool jump_table = (prefix[sizeof abi::kEntryPrefix] & abi::kMayHaveJumpTable) != 0;
    if (jump_table || builder.HasBranchInside()) return Refusal::kBranchInside;
  }
  stub->entry = Address(function.entry);
  stub->several = builder.several();
  uint8_t jump[kJumpSize];
  return WriteHead(slot, counter, stub) && PrefixJump(*stub, jump) ? Refusal::kNone : Refusal::kTooFar;
}

bool PrefixJump(const Stub& stub, uint8_t (&out)[kJumpSize]) {
  out[0] = 0xe9;
  return PutDistance(out + 1, stub.entry - abi::kEntryPrefixSize + kJumpSize, Address(stub.count));
}

void EntryCode(const Stub& stub, bool patched, uint8_t (&out)[kShortJumpSize]) {
  out[0] = patched ? 0xeb : stub.code[0];
  if (patched)
    out[1] = static_cast<uint8_t>(-static_cast<int>(abi::kEntryPrefixSize + stub.skipped + kShortJumpSize));
  else
    // The stub has the two bytes unchanged, since a displacement is never among them. Or the second is the opcode of a
    // call behind a push.
    out[1] = stub.copied >= kShortJumpSize ? stub.code[1] : 0xe8;
}

uint64_t CompiledAddress(const Stub& stub, uint64_t pc) {
  const uint64_t code = Address(stub.code);
  const uint64_t displaced = stub.entry + stub.skipped;
  if (pc < code) return stub.entry;
  if (pc - code < stub.copied) return displaced + (pc - code);
  // An emulated call, which is not done yet, or the jump back.
  return displaced + (stub.copied < stub.displaced ? stub.copied : stub.displaced);
}

}  // namespace recrash::watch
