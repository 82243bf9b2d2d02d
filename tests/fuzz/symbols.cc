// The file of the program: all that is read of it for a crash, with every function of its symbol table on the stack.
#include "testgen/symbols/symbols.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "agent/elf/elf_image.h"
#include "testgen/symbols/backtrace.h"
#include "tests/fuzz/fuzzed_file.h"

namespace recrash {
namespace {

constexpr uint64_t kBase = 0x555500000000;
constexpr uint64_t kStackAt = 0x7ffe00000000;
constexpr size_t kStackSize = 4096;
constexpr size_t kMostFunctions = 8;

std::vector<uint64_t> FunctionsOf(const ElfImage& image) {
  std::vector<uint64_t> functions;
  image.VisitSymbols([&](const ElfSymbol& symbol) {
    if (symbol.is_function && functions.size() < kMostFunctions) functions.push_back(symbol.address);
  });
  (void)image.FunctionNames({functions.begin(), functions.end()});
  for (const uint64_t function : functions) {
    (void)image.FunctionStart(function + 1);
    (void)image.IsPatchable(function);
    (void)image.IsReturnAddress(function);
  }
  return functions;
}

Report Crash(const std::string& path, const ElfFacts& facts, const std::vector<uint64_t>& functions) {
  Report report;
  const uint64_t first = facts.loads.front().vaddr & ~uint64_t{4095};
  const uint64_t end = facts.loads.back().vaddr + facts.loads.back().memory_size;
  const uint64_t size = std::min<uint64_t>(end - first + 4095, uint64_t{1} << 32) & ~uint64_t{4095};
  const uint64_t bias = facts.is_movable ? kBase - first : 0;
  report.process.program = path;
  report.modules = {{path, facts.build_id, {first + bias}, size, bias, true}};
  report.mappings = {{{first + bias}, {first + bias + size}, kMapRead | kMapExecute, 0, path},
                     {{kStackAt}, {kStackAt + kStackSize}, kMapRead | kMapWrite, 0, "[stack]"}};
  Region stack{{kStackAt}, std::vector<uint8_t>(kStackSize)};
  for (size_t at = 0; at < kStackSize && !functions.empty(); at += sizeof(uint64_t)) {
    const uint64_t word = functions[at / sizeof(uint64_t) % functions.size()] + bias + 8;
    std::memcpy(&stack.bytes[at], &word, sizeof word);
  }
  report.memory = {stack};
  Thread thread{1, "", true, {}};
  thread.registers.dwarf.fill(kStackAt + 1024);
  thread.registers.dwarf[7] = kStackAt + 256;
  thread.registers.dwarf[16] = (functions.empty() ? facts.loads.front().vaddr : functions.front()) + bias + 4;
  report.threads = {thread};
  report.failure.signal = 11;
  report.failure.pc = {thread.registers.pc()};
  return report;
}

}  // namespace
}  // namespace recrash

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace recrash;
  const std::string& path = FuzzedFile({data, size});
  const Result<ElfImage> image = ElfImage::Open(path);
  if (!image) return 0;
  const Report report = Crash(path, image->facts(), FunctionsOf(*image));
  const Result<Symbols> symbols = Symbols::Open(report, {.program = path, .search_paths = {}, .max_candidates = 8});
  if (!symbols) return 0;
  if (const Result<Backtrace> backtrace = ReadBacktrace(report, *symbols)) (void)MakeReplayData(*backtrace, *symbols);
  return 0;
}
