#include "testgen/replay/guest/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/linker_tables.h"
#include "agent/base/signal_safe/pages.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

using signal_safe::PageDown;

Range PagesOf(const Range& range) { return {PageDown(range.start), signal_safe::PageUp(range.end)}; }

const char* BaseName(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// By path, else by file name: the library may have been found elsewhere.
const plan::Module* FindRecorded(const char* path, bool is_program) {
  const auto recorded = TableOf<plan::Module>(world.plan->modules);
  const bool is_vdso = strncmp(path, "linux-vdso", 10) == 0;
  for (const plan::Module& module : recorded) {
    const bool same_name = strcmp(TextOf(module.path), path) == 0 || (is_vdso && (module.flags & plan::kVdso));
    if (module.flags & plan::kProgram ? is_program : !is_program && same_name) return &module;
  }
  if (is_program) return nullptr;
  for (const plan::Module& module : recorded) {
    if (module.flags & plan::kProgram) continue;
    if (strcmp(BaseName(TextOf(module.path)), BaseName(path)) == 0) return &module;
  }
  return nullptr;
}

void AddSegment(LiveModule* module, uint64_t bias, const ElfW(Phdr) & segment) {
  const Range range{bias + segment.p_vaddr, bias + segment.p_vaddr + segment.p_memsz};
  if (segment.p_type == PT_LOAD) {
    const Range pages = PagesOf(range);
    if (module->live.end == 0 || pages.start < module->live.start) module->live.start = pages.start;
    if (pages.end > module->live.end) module->live.end = pages.end;
    if ((segment.p_flags & PF_X) && module->code_count < 4) module->code[module->code_count++] = range;
    if ((segment.p_flags & PF_W) && module->data_count < 4) module->data[module->data_count++] = range;
  } else if (segment.p_type == PT_GNU_EH_FRAME) {
    module->eh_frame_header = range.start;
    module->opaque[module->opaque_count++] = range;
  } else if (segment.p_type == PT_GNU_RELRO) {
    module->relro = range;
  } else if (segment.p_type == PT_TLS) {
    module->tls_size = segment.p_memsz;
  }
}

// The .got.plt of a lazily bound module belongs to the loader, which has bound it for this process.
void FindGotPlt(LiveModule* module, const ElfW(Dyn) * dynamic) {
  uint64_t table = 0;
  uint64_t relocations = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_PLTGOT) table = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_PLTRELSZ) relocations = dynamic->d_un.d_val;
  }
  if (table == 0) return;
  // GNU ld puts the first three entries at the end of the read-only part and the others behind it.
  const uint64_t end = table + 3 * sizeof(uint64_t) + relocations / sizeof(ElfW(Rela)) * sizeof(uint64_t);
  const uint64_t read_only_end = PageDown(module->relro.end);
  if (module->relro.Contains(table) && table < read_only_end) table = read_only_end;
  if (table < end) module->got_plt = {table, end};
}

// Writes the build-id among the notes of a segment as lower-case hex; leaves `out` as it is where there is none.
void FindBuildId(uint64_t begin, const ElfW(Phdr) & segment, char* out, size_t size) {
  const uint64_t end = begin + segment.p_memsz;
  const uint64_t alignment = segment.p_align == 8 ? 8 : 4;
  const auto padded = [alignment](uint64_t bytes) { return (bytes + alignment - 1) & ~(alignment - 1); };
  ElfW(Nhdr) note;
  for (uint64_t at = begin; at + sizeof note <= end;) {
    memcpy(&note, Pointer<void>(at), sizeof note);
    const uint64_t owner = at + sizeof note, content = owner + padded(note.n_namesz);
    at = content + padded(note.n_descsz);
    if (at > end || note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4) continue;
    if (memcmp(Pointer<void>(owner), "GNU", 4) != 0 || note.n_descsz * 2 >= size) continue;
    for (uint32_t i = 0; i < note.n_descsz; ++i) snprintf(out + 2 * i, 3, "%02x", Pointer<uint8_t>(content)[i]);
    return;
  }
}

// Places and names of functions were looked up in a file. Where the loader took another, a call would go anywhere.
void CheckBuildId(const LiveModule& module, const dl_phdr_info& info) {
  const char* expected = TextOf(module.recorded->build_id);
  char found[129] = "";
  for (int i = 0; i < info.dlpi_phnum && !found[0]; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_NOTE) FindBuildId(info.dlpi_addr + segment.p_vaddr, segment, found, sizeof found);
  }
  if (!*expected || !found[0] || strcmp(expected, found) == 0) return;
  Problem(
      "%s: needed build-id %s, found %s\n  it has the name of a file that recrash read, and the loader took it in that "
      "one's place: is LD_LIBRARY_PATH set?",
      module.path[0] ? module.path : "the program", expected, found);
}

// Only a moved module needs it, so only then is the file opened.
void FindOpaqueSections(LiveModule* module, uint64_t bias) {
  const int file = open(module->path[0] ? module->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  Elf64_Ehdr header;
  if (pread(file, &header, sizeof header, 0) == sizeof header && header.e_shnum > 0) {
    const size_t bytes = header.e_shnum * sizeof(Elf64_Shdr);
    auto* sections = static_cast<Elf64_Shdr*>(malloc(bytes));
    char name[32];
    if (pread(file, sections, bytes, static_cast<off_t>(header.e_shoff)) == static_cast<ssize_t>(bytes)) {
      for (int i = 0; i < header.e_shnum && module->opaque_count < 16; ++i) {
        const Elf64_Shdr& section = sections[i];
        if (!(section.sh_flags & SHF_ALLOC)) continue;
        memset(name, 0, sizeof name);
        const uint64_t at = sections[header.e_shstrndx].sh_offset + section.sh_name;
        if (pread(file, name, sizeof name - 1, static_cast<off_t>(at)) <= 0 || !IsLinkerTable(name)) continue;
        module->opaque[module->opaque_count++] = {bias + section.sh_addr, bias + section.sh_addr + section.sh_size};
      }
    }
    free(sections);
  }
  close(file);
}

int AddModule(dl_phdr_info* info, size_t, void*) {
  if (world.modules.count == kMostModules) return 0;
  char resolved[PATH_MAX];
  const bool is_program = info->dlpi_name[0] == 0;
  const char* path = is_program ? "" : info->dlpi_name;
  if (!is_program && realpath(path, resolved)) path = resolved;
  LiveModule& module = world.modules.all[world.modules.count];
  module = LiveModule{};
  module.recorded = FindRecorded(path, is_program);
  if (!module.recorded && path == resolved) module.recorded = FindRecorded(info->dlpi_name, false);
  module.path = strdup(path);
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    AddSegment(&module, info->dlpi_addr, info->dlpi_phdr[i]);
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = Pointer<const ElfW(Dyn)>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
  }
  if (dynamic) FindGotPlt(&module, dynamic);
  module.tls_id = info->dlpi_tls_modid;
  module.tls_block = Number(info->dlpi_tls_data);
  if (module.recorded) {
    CheckBuildId(module, *info);
    module.recorded_range = {module.recorded->base, module.recorded->base + module.recorded->size};
    module.ghost = module.recorded->base;  // unless that is occupied
    if (module.moved() && !(module.recorded->flags & plan::kVdso)) FindOpaqueSections(&module, info->dlpi_addr);
  }
  ++world.modules.count;
  return 0;
}

// ---- Translation -------------------------------------------------------------------------------------------------

// .eh_frame_hdr holds the start of every function that can be unwound, sorted: also in a stripped file.
bool IsFunctionStart(const LiveModule& module, uint64_t live) {
  if (module.eh_frame_header == 0) return true;
  const auto* header = Pointer<const uint8_t>(module.eh_frame_header);
  const bool usual_encoding = header[0] == 1 && header[1] == 0x1b && header[2] == 0x03 && header[3] == 0x3b;
  if (!usual_encoding) return true;
  uint32_t count;
  memcpy(&count, header + 8, sizeof count);
  struct Entry {
    int32_t start;
    int32_t description;
  };
  const auto* table = reinterpret_cast<const Entry*>(header + 12);
  const auto wanted = static_cast<int64_t>(live - module.eh_frame_header);
  const Entry* found = std::lower_bound(table, table + count, wanted,
                                        [](const Entry& entry, int64_t start) { return entry.start < start; });
  return found != table + count && found->start == wanted;
}

bool MayBePointer(const LiveModule& module, uint64_t live) {
  if (LeftOut("filter")) return true;
  for (int i = 0; i < module.opaque_count; ++i) {
    if (module.opaque[i].Contains(live)) return false;
  }
  for (int i = 0; i < module.code_count; ++i) {
    if (module.code[i].Contains(live)) return IsFunctionStart(module, live);
  }
  return true;
}

// The symbol that covers `offset`, or the last that begins before it with no size.
const plan::Symbol* FindSymbol(const plan::Module& module, uint64_t offset) {
  const auto symbols = TableOf<plan::Symbol>(module.symbols);
  const plan::Symbol* symbol =
      std::upper_bound(symbols.begin(), symbols.end(), offset,
                       [](uint64_t wanted, const plan::Symbol& candidate) { return wanted < candidate.offset; });
  // Of several that begin at one place the largest comes first; a few aliases may stand between.
  for (int back = 0; back < 64 && symbol != symbols.begin(); ++back) {
    --symbol;
    if (offset < symbol->offset + (symbol->size ? symbol->size : 1)) return symbol;
  }
  return nullptr;
}

// What is called in a replay in place of an agent that this build has not: std::terminate aborts when its handler comes
// back, and a thread that ends has no block of the agent's to be freed.
void DoNothing() {}

uint64_t TranslateRebuilt(const LiveModule& module, uint64_t word) {
  const uint64_t offset = word - module.recorded_range.start;
  const plan::Symbol* symbol = FindSymbol(*module.recorded, offset);
  if (symbol && (symbol->flags & plan::kTranslated)) {
    const uint64_t within = offset - symbol->offset;
    const bool is_function = symbol->flags & plan::kFunction;
    if (within == 0 || (!is_function && within < symbol->new_size)) {
      return module.live.start + symbol->new_offset + within;
    }
  }
  const bool is_hook = symbol && (symbol->flags & plan::kTool) && offset == symbol->offset;
  if (is_hook && !LeftOut("hooks")) return Number(reinterpret_cast<void*>(DoNothing));
  return module.ghost + offset;
}

uint64_t TranslatePlain(uint64_t word, bool filter) {
  if (word < world.modules.lowest || word >= world.modules.highest) return word;
  for (const LiveModule& module : AllModules()) {
    if (!module.recorded || !module.recorded_range.Contains(word)) continue;
    if (module.rebuilt()) return TranslateRebuilt(module, word);
    const uint64_t live = word - module.recorded_range.start + module.live.start;
    return live == word || !filter || MayBePointer(module, live) ? live : word;
  }
  return word;
}

constexpr int kMangleShift = 17;

uint64_t Mangle(uint64_t address) {
  const uint64_t mixed = address ^ world.modules.pointer_guard;
  return mixed << kMangleShift | mixed >> (64 - kMangleShift);
}

uint64_t Demangle(uint64_t word) {
  return (word >> kMangleShift | word << (64 - kMangleShift)) ^ world.modules.pointer_guard;
}

}  // namespace

void LoadMissingModules() {
  for (const plan::Module& module : TableOf<plan::Module>(world.plan->modules)) {
    const char* file = TextOf(module.to_load);
    if (*file && !(module.flags & ~plan::kOtherBuild)) dlopen(file, RTLD_NOW | RTLD_LOCAL);
  }
  // To find the failing place; it is on every system with a C++ compiler's programs, and harmless to a C program.
  dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
}

void FindModules() {
  world.modules.count = 0;
  dl_iterate_phdr(AddModule, nullptr);
  world.modules.lowest = UINT64_MAX;
  world.modules.highest = 0;
  for (const LiveModule& module : AllModules()) {
    if (!module.recorded || (!module.moved() && !module.rebuilt())) continue;
    if (module.recorded_range.start < world.modules.lowest) world.modules.lowest = module.recorded_range.start;
    if (module.recorded_range.end > world.modules.highest) world.modules.highest = module.recorded_range.end;
  }
}

ModuleList AllModules() { return {world.modules.all, world.modules.count}; }

const LiveModule* FindLive(uint64_t live_address) {
  for (const LiveModule& module : AllModules()) {
    if (module.live.Contains(live_address)) return &module;
  }
  return nullptr;
}

const LiveModule* ProgramModule() {
  for (const LiveModule& module : AllModules()) {
    if (module.path[0] == 0) return &module;
  }
  return nullptr;
}

const LiveModule* ModuleOf(const plan::Module* recorded) {
  for (const LiveModule& module : AllModules()) {
    if (module.recorded == recorded) return &module;
  }
  return nullptr;
}

const LiveModule* ModuleAt(int32_t index) { return ModuleOf(TableOf<plan::Module>(world.plan->modules).first + index); }

bool IsWritable(const LiveModule& module, uint64_t live) {
  if (live >= PageDown(module.relro.start) && live < PageDown(module.relro.end)) return false;
  for (int i = 0; i < module.data_count; ++i) {
    if (PagesOf(module.data[i]).Contains(live)) return true;
  }
  return false;
}

void SetPointerGuard(uint64_t guard) { world.modules.pointer_guard = guard; }

uint64_t Translate(uint64_t word) {
  const uint64_t plain = TranslatePlain(word, true);
  if (plain != word) return plain;
  // Jump buffers and exit handlers hold code addresses mixed with the pointer guard. That a random word comes out
  // inside a module is as likely as the modules' share of 2^64.
  const uint64_t clear = Demangle(word);
  if (clear < world.modules.lowest || clear >= world.modules.highest || LeftOut("mangled")) return word;
  return Mangle(TranslatePlain(clear, false));
}

void TranslateRange(uint64_t address, uint64_t size) {
  if (world.modules.lowest >= world.modules.highest) return;
  auto* words = Pointer<uint64_t>(address);
  for (uint64_t i = 0; i < size / sizeof(uint64_t); ++i) {
    const uint64_t translated = Translate(words[i]);
    if (translated != words[i]) words[i] = translated;
  }
}

uint64_t ToLive(uint64_t recorded_address) { return TranslatePlain(recorded_address, false); }

uint64_t ToRecorded(uint64_t live_address) {
  const LiveModule* module = FindLive(live_address);
  if (!module || !module->recorded) return live_address;
  return live_address - module->live.start + module->recorded_range.start;
}

void NameCode(uint64_t live_pc, char* out, size_t size) {
  const LiveModule* module = FindLive(live_pc);
  if (!module) {
    snprintf(out, size, "0x%llx", static_cast<unsigned long long>(live_pc));
    return;
  }
  if (module->recorded) {
    const uint64_t offset = live_pc - module->live.start;
    const bool rebuilt = module->rebuilt();
    for (const plan::Symbol& symbol : TableOf<plan::Symbol>(module->recorded->symbols)) {
      if (!(symbol.flags & plan::kFunction)) continue;
      if (rebuilt && !(symbol.flags & plan::kTranslated)) continue;
      const uint64_t start = rebuilt ? symbol.new_offset : symbol.offset;
      const uint64_t length = rebuilt ? symbol.new_size : symbol.size;
      if (offset < start || offset >= start + length) continue;
      snprintf(out, size, "%s", TextOf(symbol.name));
      return;
    }
  }
  Dl_info info;
  if (dladdr(Pointer<void>(live_pc), &info) && info.dli_sname && strncmp(info.dli_sname, "_Z", 2) != 0) {
    snprintf(out, size, "%s", info.dli_sname);
    return;
  }
  snprintf(out, size, "%s+0x%llx", module->path[0] ? BaseName(module->path) : "program",
           static_cast<unsigned long long>(live_pc - module->live.start));
}

}  // namespace recrash::replay
