#include "testgen/replay/checks/detour.h"

#include <string.h>
#include <sys/mman.h>

namespace recrash::replay {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kFarJumpSize = 14;
constexpr uint8_t kJump = 0xe9;
constexpr uint64_t kReach = 1ull << 30;  // of a near jump, with room to spare
constexpr uint64_t kStep = 1ull << 20;

bool IsRegisterForm(uint8_t modrm) { return modrm >> 6 == 3; }

// The length of an instruction that does the same wherever it stands; 0: it is not one of these.
int LengthOf(const uint8_t* code) {
  constexpr uint8_t kEndBranch[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (memcmp(code, kEndBranch, sizeof kEndBranch) == 0) return sizeof kEndBranch;
  if (code[0] >= 0x50 && code[0] <= 0x57) return 1;                     // push
  if (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) return 2;  // push of r8 to r15
  if ((code[0] & 0xf8) != 0x48) return 0;                               // REX.W
  if (code[1] == 0x89 && IsRegisterForm(code[2])) return 3;             // mov
  if (code[1] == 0x85 && IsRegisterForm(code[2])) return 3;             // test
  if (code[1] == 0x83 && IsRegisterForm(code[2])) return 4;             // sub, and, cmp of a byte
  if (code[1] == 0x81 && IsRegisterForm(code[2])) return 7;             // of four
  return 0;
}

void WriteFarJump(uint8_t* at, uint64_t target) {
  constexpr uint8_t kJumpByNextWord[] = {0xff, 0x25, 0, 0, 0, 0};
  memcpy(at, kJumpByNextWord, sizeof kJumpByNextWord);
  memcpy(at + sizeof kJumpByNextWord, &target, sizeof target);
}

// A page that a near jump at `function` reaches, or null.
uint8_t* MapNear(uint64_t function) {
  for (uint64_t distance = kStep; distance < kReach; distance += kStep) {
    const uint64_t places[] = {function - distance, function + distance};
    for (const uint64_t address : places) {
      void* wanted = reinterpret_cast<void*>(address / kPage * kPage);
      void* page = mmap(wanted, kPage, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (page == wanted) return static_cast<uint8_t*>(page);
      if (page != MAP_FAILED) munmap(page, kPage);
    }
  }
  return nullptr;
}

bool WriteJump(uint64_t function, uint64_t target) {
  const auto distance = static_cast<int32_t>(target - (function + kJumpSize));
  uint8_t jump[kJumpSize] = {kJump};
  memcpy(jump + 1, &distance, sizeof distance);
  void* page = reinterpret_cast<void*>(function / kPage * kPage);
  if (mprotect(page, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  memcpy(reinterpret_cast<void*>(function), jump, sizeof jump);
  return mprotect(page, 2 * kPage, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace

int MovableBytes(const uint8_t* code, uint64_t address, uint64_t* target) {
  *target = 0;
  if (code[0] == kJump) {
    int32_t distance = 0;
    memcpy(&distance, code + 1, sizeof distance);
    *target = address + kJumpSize + static_cast<uint64_t>(static_cast<int64_t>(distance));
    return 0;
  }
  int size = 0;
  while (size < kJumpSize) {
    const int length = LengthOf(code + size);
    if (length == 0) return 0;
    size += length;
  }
  return size;
}

bool Detour(uint64_t function, uint64_t replacement, uint64_t* original) {
  const auto* code = reinterpret_cast<const uint8_t*>(function);
  const int size = MovableBytes(code, function, original);
  if (size == 0 && *original == 0) return false;
  uint8_t* stub = MapNear(function);
  if (!stub) return false;
  WriteFarJump(stub, replacement);
  if (size > 0) {
    uint8_t* moved = stub + kFarJumpSize;
    memcpy(moved, code, static_cast<size_t>(size));
    WriteFarJump(moved + size, function + static_cast<uint64_t>(size));
    *original = reinterpret_cast<uint64_t>(moved);
  }
  mprotect(stub, kPage, PROT_READ | PROT_EXEC);
  return WriteJump(function, reinterpret_cast<uint64_t>(stub));
}

}  // namespace recrash::replay
