#include "testgen/symbols/stack/record_map.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "agent/base/text.h"
#include "testgen/symbols/files/cursor.h"

namespace recrash {
namespace {

constexpr std::array<std::string_view, 16> kRegisterNames = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                                             "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<int> RegisterNumber(std::string_view text) {
  text = Trim(text);
  if (!text.empty() && text.front() == '%') text.remove_prefix(1);
  const auto found = std::find(kRegisterNames.begin(), kRegisterNames.end(), text);
  if (found == kRegisterNames.end()) return std::nullopt;
  return static_cast<int>(found - kRegisterNames.begin());
}

std::optional<int64_t> ParseOffset(std::string_view text) {
  text = Trim(text);
  if (text.empty()) return 0;
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  // Frames are far smaller than 2 GB; a larger offset is damage.
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
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

bool Matches(uint64_t hash, std::span<const uint64_t> hashes) {
  return std::find(hashes.begin(), hashes.end(), hash) != hashes.end();
}

}  // namespace

std::optional<Operand> ParseOperand(std::string_view text) {
  text = Trim(text);
  Operand operand;
  const size_t open = text.find('(');
  if (open == std::string_view::npos) {
    const auto base = RegisterNumber(text);
    if (text.empty() || text.front() != '%' || !base) return std::nullopt;
    operand.base = *base;
    return operand;
  }
  if (text.back() != ')') return std::nullopt;
  const auto offset = ParseOffset(text.substr(0, open));
  const auto base = RegisterNumber(text.substr(open + 1, text.size() - open - 2));
  if (!offset || !base) return std::nullopt;
  operand.offset = *offset;
  operand.base = *base;
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
    Cursor body(section.subspan(offset, header.size), abi::kMapEntrySize);
    RecordEntry entry;
    entry.label = header.label;
    entry.function_hash = header.function_hash;
    bool good = header.version == abi::kMapVersion;
    for (int i = 0; i < header.word_count && good; ++i) {
      entry.words.push_back(body.Read<abi::MapWord>());
      good = body.ok() && IsPlausible(entry.words.back());
    }
    const std::string_view text = good ? body.Text() : std::string_view();
    entry.operand = ParseOperand(text);
    good = good && body.ok() && (entry.operand || (text.empty() && !HasStoredWord(entry)));
    if (good)
      entries_.push_back(std::move(entry));
    else
      ++damaged_;
    offset += header.size;
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const RecordEntry& a, const RecordEntry& b) { return a.label < b.label; });
}

const RecordEntry* RecordMap::Find(uint64_t start, uint64_t pc, std::span<const uint64_t> hashes) const {
  const auto by_label = [](const RecordEntry& entry, uint64_t value) { return entry.label < value; };
  const auto first = std::lower_bound(entries_.begin(), entries_.end(), start, by_label);
  std::array<uint64_t, 1> own{};
  if (hashes.empty() && first != entries_.end()) {
    own[0] = first->function_hash;
    hashes = own;
  }
  const RecordEntry* found = nullptr;
  for (auto it = first; it != entries_.end() && it->label <= pc; ++it)
    if (Matches(it->function_hash, hashes)) found = &*it;
  return found;
}

const RecordEntry* RecordMap::FindIn(uint64_t start, uint64_t size, std::span<const uint64_t> hashes) const {
  return size == 0 ? nullptr : Find(start, start + size - 1, hashes);
}

const RecordMap& RecordMaps::Of(const LoadedModule& module) {
  const auto known = known_.find(&module);
  return known != known_.end() ? known->second : known_.emplace(&module, Read(module)).first->second;
}

// The section is not loaded, so some tools strip it with the symbols: then the unstripped twin has it.
RecordMap RecordMaps::Read(const LoadedModule& module) {
  const std::string name = BaseName(module.module->path);
  for (const auto& file : module.files) {
    const ElfSection* section = file->FindSection(abi::kMapSection);
    if (section == nullptr) continue;
    RecordMap map(section->bytes);
    if (map.damaged() > 0)
      modules_.notes().push_back(name + ": " + std::to_string(map.damaged()) + " entries of its " + abi::kMapSection +
                                 " cannot be understood");
    return map;
  }
  if (module.image->FindSection(abi::kOldMapSection))
    modules_.notes().push_back(name + ": built by an older recrash, whose records this one cannot read; arguments " +
                               "come from debug information. Build it again with this one");
  return RecordMap();
}

}  // namespace recrash
