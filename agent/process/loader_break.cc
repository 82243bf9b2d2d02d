#include "agent/process/loader_break.h"

#include <link.h>
#include <unistd.h>

#include "agent/process/proc_files.h"

namespace recrash {
namespace {

template <typename T>
bool ReadAt(int memory, uint64_t address, T* out) {
  return pread(memory, out, sizeof *out, static_cast<off_t>(address)) == static_cast<ssize_t>(sizeof *out);
}

// The address of the program's PT_DYNAMIC. PT_PHDR says where the headers were meant to lie; the distance to where they
// lie is the bias.
uint64_t DynamicSection(int memory, uint64_t headers, uint64_t count) {
  uint64_t dynamic = 0;
  uint64_t bias = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ElfW(Phdr) segment;
    if (!ReadAt(memory, headers + i * sizeof segment, &segment)) return 0;
    if (segment.p_type == PT_PHDR) bias = headers - segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_vaddr;
  }
  return dynamic ? bias + dynamic : 0;
}

}  // namespace

uint64_t FindLoaderBreak(pid_t pid, int memory) {
  uint64_t at = DynamicSection(memory, AuxiliaryValue(pid, AT_PHDR), AuxiliaryValue(pid, AT_PHNUM));
  ElfW(Dyn) entry;
  for (; at && ReadAt(memory, at, &entry) && entry.d_tag != DT_NULL; at += sizeof entry) {
    r_debug state;
    if (entry.d_tag == DT_DEBUG && ReadAt(memory, entry.d_un.d_ptr, &state)) return state.r_brk;
  }
  return 0;
}

}  // namespace recrash
