// What `recrash generate` adds to a report, so that a replay needs neither the original program nor its DWARF.
#include <algorithm>
#include <tuple>

#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/module_set.h"

namespace recrash {
namespace {

// A stripped twin of a debug build: symbols beyond this would make the report larger than the memory it keeps.
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
  return replay;
}

std::vector<Symbol> ProgramSymbols(ElfFile& names, uint64_t base_vaddr) {
  std::vector<Symbol> symbols;
  for (const ElfSymbol& symbol : names.symbols()) {
    if (symbol.address < base_vaddr || symbols.size() >= kMaxSymbols) continue;
    const std::string name = symbol.is_local ? symbol.name + "@" + symbol.file : symbol.name;
    symbols.push_back({symbol.address - base_vaddr, symbol.size, symbol.is_function, name});
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const Symbol& a, const Symbol& b) { return std::tie(a.offset, a.name) < std::tie(b.offset, b.name); });
  return symbols;
}

ProgramImage MakeImage(const LoadedModule& program) {
  ProgramImage image;
  image.base_vaddr = program.module->base.value - program.bias();
  for (const ElfSegment& segment : program.image->segments()) {
    // Relocations are not applied to segments that cannot be written: the file's bytes are the process's.
    if (segment.writable || segment.bytes.empty()) continue;
    image.read_only.push_back(
        {{segment.address + program.bias()}, std::vector<uint8_t>(segment.bytes.begin(), segment.bytes.end())});
  }
  std::sort(image.read_only.begin(), image.read_only.end(),
            [](const Region& a, const Region& b) { return a.address < b.address; });
  image.symbols = ProgramSymbols(*program.names, image.base_vaddr);
  return image;
}

}  // namespace

Result<ReplayData> MakeReplayData(const Report& report, const Backtrace& backtrace, const SymbolOptions& options) {
  const auto modules = ModuleSet::Open(report, options);
  if (!modules) return modules.error();
  ReplayData data;
  for (const Frame& frame : backtrace.frames)
    if (frame.candidate) data.frames.push_back(MakeReplayFrame(frame));
  data.place = backtrace.place;
  data.image = MakeImage(*(*modules)->program());
  return data;
}

}  // namespace recrash
