#include "testgen/replay/plan/program_file.h"

#include <algorithm>
#include <span>

#include "agent/elf/elf_image.h"
#include "agent/report/modules.h"
#include "testgen/replay/plan/plan.h"

namespace recrash {
bool IsSameBuild(const TestReport& report, const Module& module, const ProgramFile& file) {
  if (module.build_id != file.build_id) return false;
  const ModuleImage* recorded = report.replay.FindImage(module);
  if (!file.build_id.empty() || !recorded) return true;
  const Result<ElfImage> now = ElfImage::Open(file.path);
  if (!now) return false;
  for (const ElfLoad& load : now->facts().loads) {
    const TargetAddress address = module.base + (load.vaddr - file.base_vaddr);
    const std::span<const uint8_t> bytes = now->Bytes(load.vaddr, load.file_size);
    for (const Region& region : recorded->read_only) {
      if (load.writable || region.address != address) continue;
      const size_t common = std::min(bytes.size(), region.bytes.size());
      if (!std::ranges::equal(bytes.first(common), std::span(region.bytes).first(common))) return false;
    }
  }
  return true;
}

Result<ProgramFile> ReadProgramFile(const std::string& path, bool with_symbols) {
  const Result<ElfFacts> elf = ReadElf(path);
  if (!elf) return Error{Errc::kMissing, elf.error().message};
  ProgramFile file;
  file.path = path;
  file.build_id = elf->build_id;
  file.interpreter = elf->interpreter;
  file.tls_size = elf->tls_size;
  file.base_vaddr = elf->loads.front().vaddr & ~(plan::kPageSize - 1);
  if (!with_symbols) return file;
  const Result<ElfImage> image = ElfImage::Open(path);
  if (!image) return Error{Errc::kMissing, image.error().message};
  file.symbols = SymbolsOf(*image, file.base_vaddr);
  file.thread_locals = ThreadLocalsOf(*image);
  return file;
}

}  // namespace recrash
