#include "agent/client/address_space/segments.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <algorithm>

#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/pages.h"

namespace recrash::client {
namespace {

using signal_safe::kPage;
using signal_safe::PageDown;
using signal_safe::PageUp;
using signal_safe::ReadOwnAnyhow;

constexpr uint32_t kMostModules = 4096;  // a damaged list may not end
constexpr uint32_t kMostHeaders = 64;
constexpr uint32_t kMostSearched = 1 << 15;  // pages, for the beginning of a file

template <typename T>
RECRASH_SIGNAL_SAFE bool Read(const void* from, T& to) {
  constexpr size_t kSize = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
  return ReadOwnAnyhow(reinterpret_cast<uint64_t>(from), &to, kSize) == kSize;
}

struct Headers {
  ElfW(Phdr) entries[kMostHeaders];
  uint32_t count;
  uint64_t bias;
};

RECRASH_SIGNAL_SAFE const ElfW(Phdr) * Find(const Headers& headers, uint32_t type) {
  for (uint32_t i = 0; i < headers.count; ++i)
    if (headers.entries[i].p_type == type) return &headers.entries[i];
  return nullptr;
}

RECRASH_SIGNAL_SAFE bool ReadTable(uint64_t address, uint64_t count, Headers& headers) {
  if (count == 0 || count > kMostHeaders) return false;
  const uint64_t size = count * sizeof(ElfW(Phdr));
  headers.count = static_cast<uint32_t>(count);
  return ReadOwnAnyhow(address, headers.entries, size) == size;
}

// Of the file that is mapped from `base` on, if one is.
RECRASH_SIGNAL_SAFE bool ReadHeadersAt(uint64_t base, Headers& headers) {
  ElfW(Ehdr) file;
  if (!Read(reinterpret_cast<const void*>(base), file) || memcmp(file.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (file.e_phentsize != sizeof(ElfW(Phdr)) || !ReadTable(base + file.e_phoff, file.e_phnum, headers)) return false;
  const ElfW(Phdr)* const first = Find(headers, PT_LOAD);
  if (first == nullptr || first->p_offset >= kPage) return false;
  headers.bias = base - PageDown(first->p_vaddr);
  return true;
}

// A library's file begins at its bias; where it was linked for another place, somewhere below its dynamic section.
RECRASH_SIGNAL_SAFE bool ReadHeadersOf(const link_map& module, Headers& headers) {
  if (module.l_addr != 0 && ReadHeadersAt(module.l_addr, headers)) return true;
  const auto dynamic = reinterpret_cast<uint64_t>(module.l_ld);
  uint64_t base = PageDown(dynamic);
  for (uint32_t i = 0; i < kMostSearched && base != 0; ++i, base -= kPage) {
    if (!ReadHeadersAt(base, headers)) continue;
    const ElfW(Phdr)* const found = Find(headers, PT_DYNAMIC);
    if (found != nullptr && headers.bias + found->p_vaddr == dynamic) return true;
  }
  return false;
}

// What the loader has made read-only after relocating it.
struct Relocated {
  uint64_t start;
  uint64_t end;
};

RECRASH_SIGNAL_SAFE Relocated RelocatedOf(const Headers& headers) {
  const ElfW(Phdr)* const found = Find(headers, PT_GNU_RELRO);
  if (found == nullptr) return {0, 0};
  const uint64_t start = headers.bias + found->p_vaddr;
  return {PageDown(start), PageDown(start + found->p_memsz)};
}

// In three parts at most: behind each other before what is read-only, in it, and behind.
RECRASH_SIGNAL_SAFE void AddParts(const Mapped& whole, const Relocated& relocated, MappedList& list) {
  const uint64_t from = std::min(std::max(whole.start, relocated.start), whole.end);
  const uint64_t to = std::max(from, std::min(whole.end, relocated.end));
  const auto add = [&](uint64_t start, uint64_t end, bool writable) {
    Mapped part = whole;
    part.start = start;
    part.end = end;
    part.offset += whole.kind != MappedKind::kAnonymous ? start - whole.start : 0;
    part.writable = writable;
    list.Add(part);
  };
  if (from == to) return list.Add(whole);
  add(whole.start, from, whole.writable);
  add(from, to, false);
  add(to, whole.end, whole.writable);
}

RECRASH_SIGNAL_SAFE void AddModule(const Headers& headers, MappedKind kind, const char* name, MappedList& list) {
  const Relocated relocated = RelocatedOf(headers);
  for (uint32_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& header = headers.entries[i];
    if (header.p_type != PT_LOAD || header.p_memsz == 0) continue;
    const uint64_t start = headers.bias + header.p_vaddr;
    const uint64_t file_end = PageUp(start + header.p_filesz);
    Mapped segment = {PageDown(start),
                      file_end,
                      PageDown(header.p_offset),
                      name,
                      kind,
                      (header.p_flags & PF_R) != 0,
                      (header.p_flags & PF_W) != 0,
                      (header.p_flags & PF_X) != 0,
                      false};
    if (header.p_filesz == 0) segment.end = segment.start;
    if (segment.writable)
      AddParts(segment, relocated, list);
    else
      list.Add(segment);
    segment.start = header.p_filesz == 0 ? segment.start : file_end;
    segment.end = PageUp(start + header.p_memsz);
    segment.offset = 0;
    segment.kind = MappedKind::kAnonymous;  // .bss
    if (segment.start < segment.end) AddParts(segment, relocated, list);
  }
}

RECRASH_SIGNAL_SAFE void AddProgram(const LoadedAt& loaded, Headers& headers, MappedList& list) {
  // The table lies behind the file's head, as a rule.
  if (!ReadHeadersAt(PageDown(loaded.headers), headers)) {
    if (!ReadTable(loaded.headers, loaded.header_count, headers)) return;
    const ElfW(Phdr)* const table = Find(headers, PT_PHDR);
    headers.bias = table != nullptr ? loaded.headers - table->p_vaddr : 0;
  }
  AddModule(headers, MappedKind::kProgram, nullptr, list);
}

// Of each namespace (dlmopen); glibc 2.35 and later lead from one to the next.
struct NextNamespace {
  r_debug list;
  const NextNamespace* next;
};

RECRASH_SIGNAL_SAFE void AddLibraries(const link_map* first, uint64_t vdso, Headers& headers, MappedList& list) {
  link_map module;
  uint32_t count = 0;
  for (const link_map* at = first; at != nullptr && count < kMostModules; at = module.l_next, ++count) {
    if (!Read(at, module)) return;
    char letter = 0;
    // The program has no name. The vdso lies in no file.
    if (module.l_name == nullptr || !Read(module.l_name, letter) || letter == 0) continue;
    if (ReadHeadersOf(module, headers) && headers.bias + PageDown(Find(headers, PT_LOAD)->p_vaddr) != vdso)
      AddModule(headers, MappedKind::kLibrary, module.l_name, list);
  }
}

RECRASH_SIGNAL_SAFE void AddNamespaces(const LoadedAt& loaded, Headers& headers, MappedList& list) {
  constexpr uint32_t kMostNamespaces = 16;
  constexpr int kWithNext = 2;
  const auto* at = static_cast<const NextNamespace*>(loaded.loader);
  for (uint32_t i = 0; i < kMostNamespaces && at != nullptr; ++i) {
    r_debug debug;
    if (!Read(&at->list, debug)) return;
    AddLibraries(debug.r_map, loaded.vdso, headers, list);
    const NextNamespace* next = nullptr;
    if (debug.r_version >= kWithNext && !Read(&at->next, next)) return;
    at = next;
  }
}

}  // namespace

void MappedList::Sort() {
  std::sort(entries_, entries_ + count_, [](const Mapped& a, const Mapped& b) { return a.start < b.start; });
}

uint32_t MappedList::FirstBehind(uint64_t address) const {
  const auto is_before = [](const Mapped& mapped, uint64_t at) { return mapped.end <= at; };
  return static_cast<uint32_t>(std::lower_bound(entries_, entries_ + count_, address, is_before) - entries_);
}

void ListSegments(const LoadedAt& loaded, MappedList& list) {
  static Headers headers;
  list.Clear();
  AddProgram(loaded, headers, list);
  AddNamespaces(loaded, headers, list);
  if (loaded.vdso != 0 && ReadHeadersAt(loaded.vdso, headers)) AddModule(headers, MappedKind::kVdso, nullptr, list);
  list.Sort();
}

}  // namespace recrash::client
