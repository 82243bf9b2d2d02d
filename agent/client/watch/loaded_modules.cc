#include "agent/client/watch/loaded_modules.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/system_call.h"
#include "shadowstack/abi.h"

namespace recrash::watch {
namespace {

using signal_safe::Call;
using signal_safe::PageDown;

void ReadNotes(const dl_phdr_info& info, const ElfW(Phdr) & header, LoadedModule* module) {
  const uint64_t begin = info.dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
  const uint64_t alignment = header.p_align == 8 ? 8 : 4;
  for (uint64_t at = begin; at + sizeof(ElfW(Nhdr)) <= end;) {
    ElfW(Nhdr) note;
    memcpy(&note, reinterpret_cast<const void*>(at), sizeof note);
    const uint64_t name = at + sizeof note;
    const uint64_t content = name + ((note.n_namesz + alignment - 1) & ~(alignment - 1));
    const uint64_t next = content + ((note.n_descsz + alignment - 1) & ~(alignment - 1));
    if (content + note.n_descsz > end) return;
    const auto is = [&](const char* owner, size_t size) {
      return note.n_namesz == size && memcmp(reinterpret_cast<const void*>(name), owner, size) == 0;
    };
    if (note.n_type == NT_GNU_BUILD_ID && is("GNU", 4)) {
      module->build_id = reinterpret_cast<const uint8_t*>(content);
      module->build_id_size = note.n_descsz;
      module->build_id_file_offset = header.p_offset + (content - begin);
    }
    if (is(abi::kNoteOwner, sizeof abi::kNoteOwner)) {
      module->instrumented = true;
      constexpr size_t kSize = sizeof abi::kAdaptiveNote - 1;
      if (note.n_descsz >= kSize && memcmp(reinterpret_cast<const void*>(content), abi::kAdaptiveNote, kSize) == 0)
        module->adaptive = true;
    }
    at = next;
  }
}

void ReadSegment(const dl_phdr_info& info, const ElfW(Phdr) & header, LoadedModule* module) {
  const uint64_t begin = PageDown(info.dlpi_addr + header.p_vaddr);
  const uint64_t end = info.dlpi_addr + header.p_vaddr + header.p_memsz;
  if (module->begin == 0 || begin < module->begin) module->begin = begin;
  if (end > module->end) module->end = end;
  if ((header.p_flags & PF_X) == 0 || (header.p_flags & PF_W) != 0 || module->code_count == kMostCodeSegments) return;
  module->code[module->code_count++] = {begin, end, PageDown(header.p_offset), -1};
}

struct Listing {
  LoadedModule* modules;
  size_t room;
  size_t count;
};

int AddModule(dl_phdr_info* info, size_t, void* argument) {
  auto& listing = *static_cast<Listing*>(argument);
  if (listing.count == listing.room) return 1;
  LoadedModule& module = listing.modules[listing.count];
  module = LoadedModule();
  module.bias = info->dlpi_addr;
  // The first is the program. It has no name.
  module.path = listing.count == 0 ? "/proc/self/exe" : info->dlpi_name;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD) ReadSegment(*info, header, &module);
    if (header.p_type == PT_NOTE) ReadNotes(*info, header, &module);
    if (header.p_type == PT_GNU_EH_FRAME) {
      module.frame_table = reinterpret_cast<const uint8_t*>(info->dlpi_addr + header.p_vaddr);
      module.frame_table_size = header.p_memsz;
    }
  }
  ++listing.count;
  return 0;
}

bool FileHolds(int file, uint64_t offset, const void* bytes, size_t size) {
  uint8_t found[512];
  return size <= sizeof found && Call(SYS_pread64, file, found, size, offset) == static_cast<long>(size) &&
         memcmp(found, bytes, size) == 0;
}

// Is `file` the one that is mapped? Compares the build-id, or the beginning of the code if there is none. A wrong
// answer costs names of functions, not code: pages that are patched are copied whole from memory.
bool IsMapped(int file, const LoadedModule& module) {
  if (module.build_id != nullptr)
    return FileHolds(file, module.build_id_file_offset, module.build_id, module.build_id_size);
  return FileHolds(file, module.code[0].file_offset, reinterpret_cast<const void*>(module.code[0].begin), 512);
}

}  // namespace

bool LoadedModule::HasBuildId(std::string_view hex) const {
  if (build_id == nullptr || hex.size() != 2 * build_id_size) return false;
  for (size_t i = 0; i < build_id_size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (hex[2 * i] != kDigits[build_id[i] >> 4] || hex[2 * i + 1] != kDigits[build_id[i] & 15]) return false;
  }
  return true;
}

const CodeSegment* LoadedModule::SegmentOf(uint64_t address, size_t size) const {
  for (size_t i = 0; i < code_count; ++i)
    if (address >= code[i].begin && address < code[i].end && size <= code[i].end - address) return &code[i];
  return nullptr;
}

size_t ListModules(LoadedModule* modules, size_t room) {
  Listing listing = {modules, room, 0};
  dl_iterate_phdr(AddModule, &listing);
  return listing.count;
}

bool ProgramIsAdaptive() {
  LoadedModule program;
  ListModules(&program, 1);
  return program.adaptive;
}

bool OpenFile(LoadedModule* module) {
  if (module->code_count == 0) return false;
  if (module->code[0].file >= 0) return true;
  const int file = static_cast<int>(Call(SYS_openat, AT_FDCWD, module->path, O_RDONLY | O_CLOEXEC));
  if (file < 0) return false;
  if (!IsMapped(file, *module)) {
    Call(SYS_close, file);
    return false;
  }
  for (size_t i = 0; i < module->code_count; ++i) module->code[i].file = file;
  return true;
}

void CloseFile(LoadedModule* module) {
  if (module->code_count == 0 || module->code[0].file < 0) return;
  Call(SYS_close, module->code[0].file);
  for (size_t i = 0; i < module->code_count; ++i) module->code[i].file = -1;
}

}  // namespace recrash::watch
