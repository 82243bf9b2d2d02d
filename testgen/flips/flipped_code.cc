#include "testgen/flips/flipped_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/base/text.h"
#include "agent/process/changed_code.h"
#include "testgen/symbols/dwarf/plain_function.h"

namespace recrash {
namespace {

// More than one machine's fault: something has changed the code in a way that is not known here.
constexpr size_t kMost = 8;

// Of code that something has patched nothing is said, as its windows are smaller than pages.
void AddFromKept(const Report& report, const Symbols& symbols, std::set<FlippedByte>* flipped) {
  if (report.code.changed != 0) return;
  for (const Region& region : report.code.kept) {
    const Module* module = report.FindModule(region.address);
    if (module == nullptr || module->build_id.empty()) continue;
    std::vector<uint8_t> in_file(region.bytes.size());
    if (!symbols.modules().ReadFile(region.address, in_file)) continue;
    for (const FlippedByte& byte : CompareCode(region.address, region.bytes, in_file, WhoPatches(report)).flipped)
      flipped->insert(byte);
  }
}

std::string WhereText(const Symbols& symbols, TargetAddress address) {
  const CodeInfo& code = symbols.code().At(address);
  if (code.live.empty() || code.live[0].function.empty()) return "";
  const SourceLine& line = code.live[0].at;
  const std::string at = line.file.empty() ? "" : fmt::format(" at {}:{}", BaseName(line.file), line.line);
  return fmt::format(", in {}{},", PlainFunction(code.live[0].function), at);
}

std::string Sentence(const Report& report, const Symbols& symbols, const FlippedByte& byte) {
  const Module* module = report.FindModule(byte.address);
  const std::string place = module == nullptr
                                ? fmt::format("{:#x}", byte.address.value)
                                : fmt::format("{}+{:#x}", BaseName(module->path), byte.address - module->base);
  return fmt::format(
      "bit {} of the byte of code at {}{} was flipped ({:#04x} in the file, {:#04x} in memory): a fault of the "
      "machine's memory is likely",
      FlippedBit(byte), place, WhereText(symbols, byte.address), byte.in_file, byte.in_memory);
}

}  // namespace

std::vector<std::string> FlippedCode(const Report& report, const Symbols& symbols) {
  std::set<FlippedByte> flipped(report.code.flipped.begin(), report.code.flipped.end());
  AddFromKept(report, symbols, &flipped);
  std::vector<std::string> sentences;
  if (flipped.size() > kMost)
    return {fmt::format("{} bytes of code have one bit that is not as in the file: too many to be flipped bits",
                        flipped.size())};
  for (const FlippedByte& byte : flipped) sentences.push_back(Sentence(report, symbols, byte));
  return sentences;
}

}  // namespace recrash
