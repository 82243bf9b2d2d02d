// Formats: the Itanium C++ ABI's exception handling tables as gcc and clang write them, DWARF's pointer encodings
// (DW_EH_PE_*). All addresses are those of the file. A word that the loader fills is read from the relocations.
#include "testgen/symbols/stack/handlers.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "testgen/symbols/files/elf_file.h"

namespace recrash {
namespace {

constexpr uint64_t kMostHandlers = 1000;  // of one call

// Reads forward; after the first byte that is not there, all it gives is 0.
class Cursor {
 public:
  Cursor(const ElfImage& image, uint64_t address) : image_(image), address_(address) {}

  uint64_t address() const { return address_; }
  bool failed() const { return failed_; }

  template <typename T>
  T Next() {
    T value{};
    const std::span<const uint8_t> bytes = image_.Bytes(address_, sizeof value);
    if (bytes.size() < sizeof value) failed_ = true;
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof value);
    address_ += sizeof value;
    return failed_ ? T{} : value;
  }

  uint64_t Unsigned() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Next<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    failed_ = true;
    return 0;
  }

  int64_t Signed() {
    int64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const auto byte = Next<uint8_t>();
      value |= static_cast<int64_t>(byte & 0x7f) << shift;
      if (byte & 0x80) continue;
      return byte & 0x40 ? value | static_cast<int64_t>(~uint64_t{0} << (shift + 7)) : value;
    }
    failed_ = true;
    return 0;
  }

  // 0 stays 0, however it is encoded: no pointer. An indirect one gives the address of the word that holds it.
  uint64_t Encoded(uint8_t encoding) {
    const uint64_t at = address_;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case DW_EH_PE_absptr:
      case DW_EH_PE_udata8:
      case DW_EH_PE_sdata8:
        value = Next<uint64_t>();
        break;
      case DW_EH_PE_uleb128:
        value = Unsigned();
        break;
      case DW_EH_PE_udata2:
        value = Next<uint16_t>();
        break;
      case DW_EH_PE_udata4:
        value = Next<uint32_t>();
        break;
      case DW_EH_PE_sdata2:
        value = static_cast<uint64_t>(Next<int16_t>());
        break;
      case DW_EH_PE_sdata4:
        value = static_cast<uint64_t>(int64_t{Next<int32_t>()});
        break;
      default:
        failed_ = true;
    }
    const int base = encoding & 0x70;
    if (base != 0 && base != DW_EH_PE_pcrel) failed_ = true;
    return value != 0 && base == DW_EH_PE_pcrel ? value + at : value;
  }

 private:
  const ElfImage& image_;
  uint64_t address_;
  bool failed_ = false;
};

size_t SizeOfEncoded(uint8_t encoding) {
  switch (encoding & 0x0f) {
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
      return 2;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
      return 4;
    case DW_EH_PE_uleb128:
    case DW_EH_PE_sleb128:
      return 0;  // no table has entries of different sizes
    default:
      return 8;
  }
}

// What an FDE and its CIE say of exceptions.
struct Description {
  uint64_t start = 0;
  uint64_t size = 0;
  uint64_t table = 0;  // the function's exception table; 0: it has none, exceptions pass
};

struct Augmentation {
  uint8_t table = DW_EH_PE_omit;
  uint8_t code = DW_EH_PE_absptr;
  bool sized = false;
};

std::optional<Augmentation> ReadCie(const ElfImage& image, uint64_t address) {
  Cursor cursor(image, address);
  cursor.Next<uint32_t>();  // length
  if (cursor.Next<uint32_t>() != 0) return std::nullopt;
  cursor.Next<uint8_t>();  // version
  std::string text;
  for (char c; (c = cursor.Next<char>()) != 0;) text += c;
  cursor.Unsigned();
  cursor.Signed();
  cursor.Unsigned();  // the return address's register; version 1 has one byte, which is the same
  Augmentation augmentation;
  if (!text.starts_with('z')) return augmentation;
  augmentation.sized = true;
  cursor.Unsigned();
  for (const char c : text.substr(1)) {
    if (c == 'L') augmentation.table = cursor.Next<uint8_t>();
    if (c == 'R') augmentation.code = cursor.Next<uint8_t>();
    if (c == 'P') cursor.Encoded(cursor.Next<uint8_t>());
  }
  return cursor.failed() ? std::nullopt : std::optional(augmentation);
}

std::optional<Description> ReadFde(const ElfImage& image, uint64_t address) {
  Cursor cursor(image, address);
  if (cursor.Next<uint32_t>() == 0xffffffff) return std::nullopt;  // 64-bit DWARF: nobody writes it here
  const uint64_t cie_at = cursor.address();
  const auto cie = ReadCie(image, cie_at - cursor.Next<uint32_t>());
  if (!cie) return std::nullopt;
  Description description;
  description.start = cursor.Encoded(cie->code);
  description.size = cursor.Encoded(cie->code & 0x0f);
  if (cie->sized) cursor.Unsigned();
  if (cie->sized && cie->table != DW_EH_PE_omit) description.table = cursor.Encoded(cie->table);
  return cursor.failed() ? std::nullopt : std::optional(description);
}

struct CallSite {
  uint64_t pad = 0;     // 0: nothing is done here
  uint64_t action = 0;  // 0: the pad cleans up and goes on
};

// The table of one function: where its parts are, and what is done for one of its calls.
struct ExceptionTable {
  std::optional<CallSite> site;  // none: std::terminate
  uint64_t actions = 0;
  uint64_t types = 0;
  uint8_t type_encoding = DW_EH_PE_omit;
};

std::optional<ExceptionTable> ReadTable(const ElfImage& image, const Description& description, uint64_t pc) {
  Cursor cursor(image, description.table);
  ExceptionTable table;
  uint64_t pads = description.start;
  if (const auto encoding = cursor.Next<uint8_t>(); encoding != DW_EH_PE_omit) pads = cursor.Encoded(encoding);
  table.type_encoding = cursor.Next<uint8_t>();
  if (table.type_encoding != DW_EH_PE_omit) {
    const uint64_t distance = cursor.Unsigned();
    table.types = cursor.address() + distance;
  }
  const auto encoding = cursor.Next<uint8_t>();
  const uint64_t size = cursor.Unsigned();
  table.actions = cursor.address() + size;
  while (!cursor.failed() && cursor.address() < table.actions) {
    const uint64_t start = description.start + cursor.Encoded(encoding);
    const uint64_t length = cursor.Encoded(encoding);
    const uint64_t pad = cursor.Encoded(encoding);
    const uint64_t action = cursor.Unsigned();
    if (pc < start || pc - start >= length) continue;
    table.site = CallSite{pad == 0 ? 0 : pads + pad, action};
    break;
  }
  return cursor.failed() ? std::nullopt : std::optional(table);
}

// The filters of an action and of those that come after it: above 0 the number of a type, 0 a cleanup, below 0 an
// exception specification. Nothing if they have no end.
std::optional<std::vector<int64_t>> FiltersOf(const ElfImage& image, const ExceptionTable& table) {
  std::vector<int64_t> filters;
  uint64_t address = table.actions + table.site->action - 1;
  for (uint64_t i = 0; i < kMostHandlers; ++i) {
    Cursor cursor(image, address);
    filters.push_back(cursor.Signed());
    const uint64_t next_at = cursor.address();
    const int64_t next = cursor.Signed();
    if (cursor.failed()) return std::nullopt;
    if (next == 0) return filters;
    address = next_at + static_cast<uint64_t>(next);
  }
  return std::nullopt;
}

const Handlers kUnknown = {{}, true};

}  // namespace

const HandlerReader::Relocations& HandlerReader::RelocationsOf(LoadedModule& module) {
  const auto [found, is_new] = relocations_.try_emplace(&module);
  if (is_new) found->second = module.image->Relocations();
  return found->second;
}

std::string HandlerReader::ImportedAt(LoadedModule& module, uint64_t target) {
  // [endbr64] [bnd] jmp *slot(%rip)
  std::span<const uint8_t> stub = module.image->Bytes(target, 12);
  const auto skip = [&](std::initializer_list<uint8_t> bytes) {
    if (stub.size() >= bytes.size() && std::equal(bytes.begin(), bytes.end(), stub.begin()))
      stub = stub.subspan(bytes.size());
  };
  skip({0xf3, 0x0f, 0x1e, 0xfa});
  skip({0xf2});
  if (stub.size() < 6 || stub[0] != 0xff || stub[1] != 0x25) return "";
  int32_t offset;
  std::memcpy(&offset, stub.data() + 2, sizeof offset);
  const uint64_t behind = target + static_cast<uint64_t>(stub.data() - module.image->Bytes(target, 1).data()) + 6;
  const auto slot = RelocationsOf(module).find(behind + static_cast<uint64_t>(int64_t{offset}));
  return slot == RelocationsOf(module).end() ? "" : std::string(slot->second.symbol);
}

std::string HandlerReader::CalledAt(LoadedModule& module, uint64_t target) {
  if (std::string imported = ImportedAt(module, target); !imported.empty()) return imported;
  const std::optional<FunctionRange> function = module.names->FunctionAt(target);
  return function && function->start == target && !function->names.empty() ? std::string(function->names.front()) : "";
}

// Each byte may begin a call. One that is none leads to the function by chance only.
bool HandlerReader::Calls(LoadedModule& module, uint64_t start, uint64_t size, const char* name) {
  const std::span<const uint8_t> code = module.image->Bytes(start, size);
  for (size_t i = 0; i + 6 <= code.size(); ++i) {
    int32_t offset;
    if (code[i] == 0xe8) {
      std::memcpy(&offset, code.data() + i + 1, sizeof offset);
      const uint64_t target = start + i + 5 + static_cast<uint64_t>(int64_t{offset});
      const ElfLoad* load = module.image->LoadAt(target);
      if (load && load->executable && CalledAt(module, target) == name) return true;
    } else if (code[i] == 0xff && code[i + 1] == 0x15) {
      std::memcpy(&offset, code.data() + i + 2, sizeof offset);
      const auto slot = RelocationsOf(module).find(start + i + 6 + static_cast<uint64_t>(int64_t{offset}));
      if (slot != RelocationsOf(module).end() && slot->second.symbol == name) return true;
    }
  }
  return false;
}

// The pad calls __clang_call_terminate, which calls std::terminate; it may be local and have no name.
bool HandlerReader::Terminates(LoadedModule& module, uint64_t pad) {
  constexpr size_t kPadSize = 48, kCalleeSize = 32;
  const std::span<const uint8_t> code = module.image->Bytes(pad, kPadSize);
  for (size_t i = 0; i + 5 <= code.size(); ++i) {
    if (code[i] != 0xe8) continue;
    int32_t offset;
    std::memcpy(&offset, code.data() + i + 1, sizeof offset);
    const uint64_t target = pad + i + 5 + static_cast<uint64_t>(int64_t{offset});
    const ElfLoad* load = module.image->LoadAt(target);
    if (!load || !load->executable) continue;
    const std::string name = CalledAt(module, target);
    if (name == "__clang_call_terminate" || name == "_ZSt9terminatev") return true;
    return name.empty() && Calls(module, target, kCalleeSize, "_ZSt9terminatev");
  }
  return false;
}

// In the function itself, or in the cold part of it that gcc moves handlers to: the pad jumps there.
bool HandlerReader::ThrowsAgain(LoadedModule& module, uint64_t function, uint64_t pad) {
  constexpr size_t kPadSize = 64;
  const ElfImage& image = *module.image;
  std::set<uint64_t> parts = {function};
  size_t size = kPadSize;
  if (const auto fde = image.FrameDescription(pad)) {
    const auto description = ReadFde(image, *fde);
    if (!description) return true;
    parts.insert(description->start);
    size = std::min<size_t>(size, description->start + description->size - pad);
  }
  const std::span<const uint8_t> code = image.Bytes(pad, size);
  for (size_t i = 1; i + 4 <= code.size(); ++i) {
    const bool is_jump = code[i - 1] == 0xe9 || (i >= 2 && code[i - 2] == 0x0f && (code[i - 1] & 0xf0) == 0x80);
    int32_t offset;
    std::memcpy(&offset, code.data() + i, sizeof offset);
    const auto part = image.FunctionStart(pad + i + 4 + static_cast<uint64_t>(int64_t{offset}));
    if (is_jump && part) parts.insert(*part);
  }
  return std::ranges::any_of(parts, [&](uint64_t part) {
    const auto fde = image.FrameDescription(part);
    const auto description = fde ? ReadFde(image, *fde) : std::nullopt;
    return !description || Calls(module, part, description->size, "__cxa_rethrow");
  });
}

std::optional<std::string> HandlerReader::TypeAt(LoadedModule& module, uint64_t type_info) {
  constexpr std::string_view kPrefix = "_ZTI";
  const Relocations& relocations = RelocationsOf(module);
  // In a program that is not PIE a type of a library is copied to here.
  if (const auto copied = relocations.find(type_info);
      copied != relocations.end() && copied->second.symbol.starts_with(kPrefix))
    return std::string(copied->second.symbol.substr(kPrefix.size()));
  if (const ElfSymbol* symbol = module.names->ObjectAt(type_info); symbol && symbol->name.starts_with(kPrefix))
    return std::string(symbol->name.substr(kPrefix.size()));
  const auto name = relocations.find(type_info + 8);
  Cursor cursor(*module.image, name == relocations.end() ? Cursor(*module.image, type_info + 8).Next<uint64_t>()
                                                         : static_cast<uint64_t>(name->second.addend));
  std::string text;
  for (char c; (c = cursor.Next<char>()) != 0;) text += c;
  if (text.starts_with('*')) text.erase(0, 1);
  return cursor.failed() || text.empty() ? std::nullopt : std::optional(text);
}

std::set<std::string> HandlerReader::NamesOf(const std::set<TargetAddress>& functions) {
  std::set<std::string> names;
  for (const TargetAddress target : functions) {
    const LoadedModule* module = modules_.Find(target);
    if (!module) continue;
    if (const auto function = module->names->FunctionAt(target.value - module->bias()))
      names.insert(function->names.begin(), function->names.end());
  }
  return names;
}

std::vector<TargetAddress> HandlerReader::CallsIn(TargetAddress function, const std::set<TargetAddress>& targets) {
  std::vector<TargetAddress> calls;
  LoadedModule* module = modules_.Find(function);
  const auto range = module ? module->names->FunctionAt(function.value - module->bias()) : std::nullopt;
  if (!range) return calls;
  const std::set<std::string> imported = NamesOf(targets);
  const std::span<const uint8_t> code = module->image->Bytes(range->start, range->size);
  for (size_t i = 0; i + 6 <= code.size(); ++i) {
    const bool is_direct = code[i] == 0xe8, is_through_table = code[i] == 0xff && code[i + 1] == 0x15;
    if (!is_direct && !is_through_table) continue;
    const size_t length = is_direct ? 5 : 6;
    int32_t offset;
    std::memcpy(&offset, code.data() + i + length - sizeof offset, sizeof offset);
    const uint64_t behind = range->start + i + length;
    const uint64_t target = behind + static_cast<uint64_t>(int64_t{offset});
    bool is_call = is_direct && targets.contains(TargetAddress{target + module->bias()});
    if (!is_call && is_through_table) {
      const auto slot = RelocationsOf(*module).find(target);
      is_call = slot != RelocationsOf(*module).end() && imported.contains(std::string(slot->second.symbol));
    } else if (!is_call && !imported.empty()) {
      is_call = imported.contains(ImportedAt(*module, target));
    }
    if (is_call) calls.push_back({behind - 1 + module->bias()});
  }
  return calls;
}

Handlers HandlerReader::At(TargetAddress pc) {
  LoadedModule* module = modules_.Find(pc);
  if (!module) return kUnknown;
  const ElfImage& image = *module->image;
  const uint64_t address = pc.value - module->bias();
  const auto fde = image.FrameDescription(address);
  const auto description = fde ? ReadFde(image, *fde) : std::nullopt;
  if (!description || address - description->start >= description->size) return kUnknown;
  if (description->table == 0) return {};
  const auto table = ReadTable(image, *description, address);
  if (!table || !table->site) return kUnknown;
  if (table->site->pad == 0 || table->site->action == 0) return {};
  const auto filters = FiltersOf(image, *table);
  if (!filters) return kUnknown;

  Handlers handlers;
  const size_t entry = SizeOfEncoded(table->type_encoding);
  for (const int64_t filter : *filters) {
    if (filter < 0) handlers.ends = true;
    if (filter <= 0) continue;
    Cursor cursor(image, table->types - static_cast<uint64_t>(filter) * entry);
    uint64_t type = cursor.Encoded(table->type_encoding);
    if (cursor.failed()) return kUnknown;
    if (type == 0) {
      if (Terminates(*module, table->site->pad)) return kUnknown;
      handlers.types.emplace_back();
      continue;
    }
    if (table->type_encoding & DW_EH_PE_indirect) {
      const Relocations& relocations = RelocationsOf(*module);
      const auto word = relocations.find(type);
      if (word != relocations.end() && word->second.symbol.starts_with("_ZTI")) {
        handlers.types.emplace_back(word->second.symbol.substr(4));
        continue;
      }
      type =
          word == relocations.end() ? Cursor(image, type).Next<uint64_t>() : static_cast<uint64_t>(word->second.addend);
    }
    if (auto name = TypeAt(*module, type)) handlers.types.push_back(*std::move(name));
  }
  if (!handlers.types.empty() && ThrowsAgain(*module, description->start, table->site->pad)) handlers.types.clear();
  return handlers;
}

}  // namespace recrash
