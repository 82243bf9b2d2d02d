// Memory and registers of a crash in a program that the developer has: unwinding, arguments, objects as text, the
// source of tests, what a replay is given. The program is fixed, and opened once (seed_values.cc).
//
// The first byte chooses the function, and by its highest bit whether more is made of it than text. Then each ten bytes
// are a place, a register or a word of stack and heap, and what is in it. Its highest byte may say that it is an
// address: in stack, heap, data or code.
#include <cstdlib>
#include <cstring>
#include <optional>

#include "agent/elf/elf_image.h"
#include "testgen/emit/emit.h"
#include "testgen/emit/launch_file.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {
namespace {

constexpr uint64_t kBase = 0x555500000000;
constexpr uint64_t kStackAt = 0x7ffe00000000;
constexpr uint64_t kHeapAt = 0x555600000000;
constexpr size_t kSize = 4096;
constexpr size_t kRegisters = 17;

class Crash {
 public:
  Crash() {
    const Result<ElfImage> image = ElfImage::Open(RECRASH_VALUES_PROGRAM);
    if (!image) std::abort();
    const ElfFacts& facts = image->facts();
    first_ = facts.loads.front().vaddr & ~uint64_t{4095};
    const uint64_t end = facts.loads.back().vaddr + facts.loads.back().memory_size;
    const uint64_t size = (end - first_ + 4095) & ~uint64_t{4095};
    image->VisitSymbols([&](const ElfSymbol& symbol) {
      if (symbol.is_function && symbol.size > 16 && std::strchr("FST", symbol.name[0]))
        functions_.push_back(symbol.address - first_ + kBase);
    });
    if (functions_.size() < 4) std::abort();
    report_.process.program = RECRASH_VALUES_PROGRAM;
    report_.process.brk_start = {kHeapAt};
    report_.process.brk_end = {kHeapAt + kSize};
    report_.modules = {{RECRASH_VALUES_PROGRAM, facts.build_id, {kBase}, size, kBase - first_, true}};
    report_.mappings = {{{kBase}, {kBase + size}, kMapRead | kMapExecute, 0, RECRASH_VALUES_PROGRAM},
                        {{kHeapAt}, {kHeapAt + kSize}, kMapRead | kMapWrite, 0, "[heap]"},
                        {{kStackAt}, {kStackAt + kSize}, kMapRead | kMapWrite, 0, "[stack]"}};
    report_.threads = {{1, "", true, {}}};
    report_.failure.signal = 11;
    Result<Symbols> symbols = Symbols::Open(report_, {.program = RECRASH_VALUES_PROGRAM, .search_paths = {}});
    if (!symbols) std::abort();
    symbols_.emplace(*std::move(symbols));
  }

  // As at the function's first instructions, its arguments in the heap.
  void Begin(uint8_t choice) {
    report_.memory = {{{kHeapAt}, std::vector<uint8_t>(kSize)}, {{kStackAt}, std::vector<uint8_t>(kSize)}};
    for (size_t at = 0; at < kSize / 8; ++at) {
      Put(0, at, kHeapAt + at * 40 % kSize);
      Put(1, at, at % 8 == 7 ? functions_[at / 8 % functions_.size()] + 8 : kHeapAt + at * 72 % kSize);
    }
    Registers& registers = report_.threads[0].registers;
    for (size_t i = 0; i < kRegisters; ++i) registers.dwarf[i] = kHeapAt + i * 64;
    registers.dwarf[7] = kStackAt + 256;
    registers.dwarf[6] = kStackAt + 512;
    registers.dwarf[16] = functions_[choice % functions_.size()] + choice / functions_.size() % 32;
  }

  void Write(uint16_t place, uint64_t word) {
    const uint64_t low = word & 0xffff;
    const uint64_t bases[] = {kStackAt, kHeapAt, kBase, functions_[low % functions_.size()]};
    if (const uint64_t kind = word >> 56; kind >= 1 && kind <= std::size(bases)) word = bases[kind - 1] + low % 8192;
    if (place < kRegisters)
      report_.threads[0].registers.dwarf[place] = word;
    else
      Put((place - kRegisters) % 2, (place - kRegisters) / 2 % (kSize / 8), word);
  }

  void Read(bool for_replay) {
    report_.failure.pc = {report_.threads[0].registers.pc()};
    const Result<Backtrace> backtrace = ReadBacktrace(report_, *symbols_);
    if (!backtrace || !for_replay) return;
    TestReport report;
    static_cast<Report&>(report) = report_;
    report.replay = MakeReplayData(*backtrace, *symbols_);
    EmitOptions options{.report_name = "report"};
    for (const ReplayFrame& frame : report.replay.frames) options.tests.push_back({.frame = frame.index});
    (void)EmitTests(report, *backtrace, options);
    (void)EmitLaunchFile(report, *backtrace, options.tests, true);
  }

 private:
  void Put(size_t region, size_t word, uint64_t value) {
    std::memcpy(&report_.memory[region].bytes[word * 8], &value, sizeof value);
  }

  Report report_;
  uint64_t first_ = 0;
  std::vector<uint64_t> functions_;
  std::optional<Symbols> symbols_;
};

}  // namespace
}  // namespace recrash

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static recrash::Crash crash;
  if (size == 0) return 0;
  const uint8_t choice = *data++;
  crash.Begin(choice % 128);
  uint16_t place;
  uint64_t word;
  for (--size; size >= sizeof place + sizeof word;
       data += sizeof place + sizeof word, size -= sizeof place + sizeof word) {
    std::memcpy(&place, data, sizeof place);
    std::memcpy(&word, data + sizeof place, sizeof word);
    crash.Write(place, word);
  }
  crash.Read(choice >= 128);
  return 0;
}
