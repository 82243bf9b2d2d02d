#include "testgen/symbols/stack/record_map.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "agent/base/text.h"

namespace recrash {
namespace {

// In the order of DWARF's numbers.
constexpr std::string_view kRegisterNames[] = {"%rax", "%rdx", "%rcx", "%rbx", "%rsi", "%rdi", "%rbp", "%rsp",
                                               "%r8",  "%r9",  "%r10", "%r11", "%r12", "%r13", "%r14", "%r15"};

std::optional<int64_t> ParseOffset(std::string_view text) {
  if (text.empty()) return 0;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  // Frames are far smaller than 2 GB; a larger offset is damage.
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return negative ? -static_cast<int64_t>(value) : value;
}

// A word's bytes must lie inside a plausible record; a size of 64 KiB cannot be expressed anyway.
bool IsPlausible(const abi::MapWord& word) {
  return word.size > 0 && word.kind >= static_cast<uint8_t>(abi::WordKind::kArgument) &&
         word.kind <= static_cast<uint8_t>(abi::WordKind::kDeepField);
}

bool HasStoredWord(const RecordEntry& entry) {
  return std::ranges::any_of(entry.words,
                             [](const abi::MapWord& word) { return word.record_offset != abi::kNotStored; });
}

// REQUIRES: kMapEntrySize bytes. sizeof(MapEntry) is larger: it counts the padding.
abi::MapEntry ReadHeader(std::span<const uint8_t> bytes) {
  abi::MapEntry header{};
  std::memcpy(&header, bytes.data(), abi::kMapEntrySize);
  return header;
}

// Reads what stands behind the header of an entry; nothing if it is damaged.
std::optional<RecordEntry> ReadEntry(const abi::MapEntry& header, std::span<const uint8_t> body) {
  RecordEntry entry;
  entry.label = header.label;
  entry.function_hash = header.function_hash;
  const size_t size = header.word_count * sizeof(abi::MapWord);
  if (header.version != abi::kMapVersion || size > body.size()) return std::nullopt;
  entry.words.resize(header.word_count);
  if (size > 0) std::memcpy(entry.words.data(), body.data(), size);
  const auto text = body.subspan(size);
  const auto end = std::ranges::find(text, 0);
  if (end == text.end() || !std::ranges::all_of(entry.words, IsPlausible)) return std::nullopt;
  entry.operand = ParseOperand(std::string(text.begin(), end));
  const bool empty = end == text.begin();
  if (!entry.operand && (!empty || HasStoredWord(entry))) return std::nullopt;
  return entry;
}

}  // namespace

std::optional<Operand> ParseOperand(std::string_view text) {
  Operand operand;
  if (const size_t open = text.find('('); open != text.npos) {
    const auto offset = ParseOffset(text.substr(0, open));
    if (!offset || !text.ends_with(')')) return std::nullopt;
    operand.offset = *offset;
    text = text.substr(open + 1, text.size() - open - 2);
  }
  const auto name = std::ranges::find(kRegisterNames, text);
  if (name == std::end(kRegisterNames)) return std::nullopt;
  operand.base = static_cast<int>(name - kRegisterNames);
  return operand;
}

RecordMap::RecordMap(std::span<const uint8_t> section) {
  size_t offset = 0;
  while (section.size() - offset >= abi::kMapEntrySize) {
    const abi::MapEntry header = ReadHeader(section.subspan(offset));
    // The linker fills gaps between the parts of two objects with zeros. It may leave entries of functions that it
    // dropped, with labels of zero.
    if (header.size == 0) {
      offset += 4;
      continue;
    }
    if (header.size < abi::kMapEntrySize || header.size % 4 != 0 || header.size > section.size() - offset) {
      ++damaged_;
      break;
    }
    auto entry = ReadEntry(header, section.subspan(offset, header.size).subspan(abi::kMapEntrySize));
    if (entry)
      entries_.push_back(std::move(*entry));
    else
      ++damaged_;
    offset += header.size;
  }
  std::ranges::sort(entries_, {}, &RecordEntry::label);
}

const RecordEntry* RecordMap::Find(uint64_t start, uint64_t pc, std::span<const uint64_t> hashes) const {
  const auto first = std::ranges::lower_bound(entries_, start, {}, &RecordEntry::label);
  if (hashes.empty() && first != entries_.end()) hashes = {&first->function_hash, 1};
  const RecordEntry* found = nullptr;
  for (auto it = first; it != entries_.end() && it->label <= pc; ++it)
    if (std::ranges::find(hashes, it->function_hash) != hashes.end()) found = &*it;
  return found;
}

const RecordEntry* RecordMap::FindIn(uint64_t start, uint64_t size, std::span<const uint64_t> hashes) const {
  return size == 0 ? nullptr : Find(start, start + size - 1, hashes);
}

// The section is not loaded, so some tools strip it with the symbols: then the unstripped file has it.
RecordMap ReadRecordMap(const LoadedModule& module, std::vector<std::string>& notes) {
  const std::string name = BaseName(module.module->path);
  for (const auto& file : module.files) {
    const ElfSection* section = file->FindSection(abi::kMapSection);
    if (section == nullptr) continue;
    RecordMap map(section->bytes);
    if (map.damaged() > 0)
      notes.push_back(name + ": " + std::to_string(map.damaged()) + " entries of its " + abi::kMapSection +
                      " cannot be understood");
    return map;
  }
  if (module.image->FindSection(abi::kOldMapSection))
    notes.push_back(name + ": built by an older recrash, whose records this one cannot read; arguments " +
                    "come from debug information. Build it again with this one");
  return RecordMap();
}

}  // namespace recrash
