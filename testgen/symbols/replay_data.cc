// Collects what a replay needs, so that it needs neither the original program nor its DWARF.
#include <algorithm>

#include "agent/report/modules.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {
namespace {

// The limit for all modules together. More symbols would make the report larger than the memory in it.
constexpr size_t kMaxSymbols = 2'000'000;

ReplayFrame MakeReplayFrame(const Frame& frame) {
  ReplayFrame replay;
  replay.index = frame.index;
  replay.linkage_name = frame.linkage_name;
  replay.function = frame.function;
  replay.file = frame.declared_file;
  replay.line = frame.declared_line;
  replay.entry = frame.entry;
  replay.entry_sp = frame.entry_sp;
  replay.words = frame.words;
  replay.fields = frame.fields;
  replay.streams = frame.streams;
  replay.caught = frame.caught;
  return replay;
}

ModuleImage MakeImage(const LoadedModule& module, size_t most_symbols) {
  ModuleImage image;
  image.base = module.module->base;
  for (const ElfLoad& load : module.image->facts().loads) {
    // Relocations do not change segments that cannot be written, so the file has the process's bytes.
    const std::span<const uint8_t> bytes = module.image->Bytes(load.vaddr, load.file_size);
    if (load.writable || bytes.empty()) continue;
    image.read_only.push_back({{load.vaddr + module.bias()}, std::vector<uint8_t>(bytes.begin(), bytes.end())});
  }
  image.symbols = SymbolsOf(*module.names, image.base.value - module.bias(), most_symbols);
  return image;
}

// Takes the program first, then its own libraries, if their files are still those of the crash.
std::vector<ModuleImage> MakeImages(ModuleSet& modules) {
  std::vector<ModuleImage> images;
  size_t symbols_left = kMaxSymbols;
  const auto add = [&](const LoadedModule& module) {
    images.push_back(MakeImage(module, symbols_left));
    symbols_left -= images.back().symbols.size();
  };
  add(*modules.program());
  for (const Module& module : modules.modules()) {
    if (module.is_program || !IsOwnPath(module.path)) continue;
    const LoadedModule* loaded = modules.Find(module.base);
    if (loaded && loaded->module == &module) add(*loaded);
  }
  std::sort(images.begin(), images.end(), [](const ModuleImage& a, const ModuleImage& b) { return a.base < b.base; });
  return images;
}

}  // namespace

ReplayData MakeReplayData(const Backtrace& backtrace, const Symbols& symbols) {
  ReplayData data;
  for (const Frame& frame : backtrace.frames)
    if (frame.candidate) data.frames.push_back(MakeReplayFrame(frame));
  data.place = backtrace.place;
  data.images = MakeImages(symbols.modules());
  return data;
}

}  // namespace recrash
