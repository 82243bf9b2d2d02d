#include "testgen/replay/checks/allocator.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "testgen/replay/checks/detour.h"

namespace recrash::replay {
namespace {

// In the order of Free<0>, Free<1>…
constexpr const char* kFreeing[] = {"free",
                                    "cfree",
                                    "_ZdlPv",
                                    "_ZdaPv",
                                    "_ZdlPvm",
                                    "_ZdaPvm",
                                    "_ZdlPvRKSt9nothrow_t",
                                    "_ZdaPvRKSt9nothrow_t",
                                    "_ZdlPvSt11align_val_t",
                                    "_ZdaPvSt11align_val_t",
                                    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
                                    "_ZdlPvmSt11align_val_t",
                                    "_ZdaPvmSt11align_val_t"};
constexpr size_t kFreeingCount = sizeof kFreeing / sizeof *kFreeing;

// All take at most these; who takes fewer does not look at the others.
using Freeing = void(uint64_t block, uint64_t second, uint64_t third);
using Resizing = uint64_t(uint64_t block, uint64_t size);
using ResizingArray = uint64_t(uint64_t block, uint64_t count, uint64_t size);
using Measuring = uint64_t(uint64_t block);

// What the detours need: they are called from anywhere, with nothing but a block.
struct Allocator {
  RecordedBlocks* blocks;
  AllocatorHooks hooks;
  Freeing* free[kFreeingCount];
  Resizing* realloc;
  ResizingArray* reallocarray;
  Measuring* usable_size;
  uint64_t (*malloc)(uint64_t);
};
Allocator own;

void FreeRecorded(uint64_t block) {
  switch (FreeBlock(*own.blocks, block, own.hooks.read)) {
    case Freed::kDone:
      break;
    case Freed::kTwice:
      own.hooks.report("double-free", block);
      break;
    case Freed::kTwiceAtCrash:
      own.hooks.report(kFreedByHeapOfCrash, block);
      break;
    case Freed::kNoBlock:
      own.hooks.report("bad-free", block);
      break;
  }
}

uint64_t ResizeRecorded(uint64_t block, uint64_t size) {
  const uint64_t had = SizeOfBlock(block, own.hooks.read);
  const uint64_t moved = size ? own.malloc(size) : 0;
  if (size && !moved) return 0;
  uint64_t from = block, to = moved, count = size < had ? size : had;
  if (moved) __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  FreeRecorded(block);
  return moved;
}

// The original is jumped to, so that a report names the caller.
template <size_t kIndex>
void Free(uint64_t block, uint64_t second, uint64_t third) {
  if (block && own.hooks.is_recorded(block)) return FreeRecorded(block);
  [[clang::musttail]] return own.free[kIndex](block, second, third);
}

uint64_t Realloc(uint64_t block, uint64_t size) {
  if (block && own.hooks.is_recorded(block)) return ResizeRecorded(block, size);
  [[clang::musttail]] return own.realloc(block, size);
}

uint64_t ReallocArray(uint64_t block, uint64_t count, uint64_t size) {
  uint64_t whole = 0;
  const bool fits = !__builtin_mul_overflow(count, size, &whole);
  if (fits && block && own.hooks.is_recorded(block)) return ResizeRecorded(block, whole);
  [[clang::musttail]] return own.reallocarray(block, count, size);
}

uint64_t UsableSize(uint64_t block) {
  if (block && own.hooks.is_recorded(block)) return SizeOfBlock(block, own.hooks.read);
  [[clang::musttail]] return own.usable_size(block);
}

// Is the function the sanitizer's? A program that has its own operator delete, or its own malloc, has it as a strong
// symbol. The sanitizer's are weak, or have a strong name beside.
bool IsSanitizers(void* function, void* initialiser) {
  Dl_info here, there;
  void* found = nullptr;
  if (!function || !dladdr1(function, &here, &found, RTLD_DL_SYMENT)) return false;
  if (!dladdr(initialiser, &there) || here.dli_fbase != there.dli_fbase) return false;
  const auto* symbol = static_cast<const ElfW(Sym)*>(found);
  return symbol && (ELF64_ST_BIND(symbol->st_info) == STB_WEAK || strstr(here.dli_sname, "interceptor"));
}

template <typename Function>
bool Lead(void* function, Function* replacement, Function** original) {
  return Detour(reinterpret_cast<uint64_t>(function), reinterpret_cast<uint64_t>(replacement),
                reinterpret_cast<uint64_t*>(original));
}

template <size_t kIndex>
bool LeadAllFreeing(FindFunction find, void* initialiser) {
  if constexpr (kIndex == kFreeingCount) {
    return true;
  } else {
    void* function = find(kFreeing[kIndex]);
    const bool led = !IsSanitizers(function, initialiser) || Lead(function, &Free<kIndex>, &own.free[kIndex]);
    return LeadAllFreeing<kIndex + 1>(find, initialiser) && led;
  }
}

}  // namespace

void FindAllocator(RecordedBlocks* blocks, FindFunction find, const AllocatorHooks& hooks) {
  using ShadowMapping = void(size_t* scale, size_t* offset);
  auto* mapping = reinterpret_cast<ShadowMapping*>(find("__asan_get_shadow_mapping"));
  void* initialiser = find("__asan_init");
  if (!mapping || !initialiser) return;
  size_t scale = 0, offset = 0;
  mapping(&scale, &offset);
  if (scale != 3) return;
  blocks->shadowed = true;
  blocks->shadow_offset = offset;
  own.blocks = blocks;
  own.hooks = hooks;
  own.malloc = reinterpret_cast<uint64_t (*)(uint64_t)>(find("malloc"));
  void* realloc = find("realloc");
  void* reallocarray = find("reallocarray");
  void* usable_size = find("malloc_usable_size");
  blocks->detoured = LeadAllFreeing<0>(find, initialiser);
  if (IsSanitizers(realloc, initialiser)) blocks->detoured &= Lead(realloc, &Realloc, &own.realloc);
  if (IsSanitizers(reallocarray, initialiser)) blocks->detoured &= Lead(reallocarray, &ReallocArray, &own.reallocarray);
  if (IsSanitizers(usable_size, initialiser)) blocks->detoured &= Lead(usable_size, &UsableSize, &own.usable_size);
}

}  // namespace recrash::replay
