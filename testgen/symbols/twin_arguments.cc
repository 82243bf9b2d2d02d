#include <dwarf.h>

#include <algorithm>
#include <cstring>

#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/twin.h"
#include "testgen/symbols/values/dwarf_call.h"

namespace recrash {
namespace {

constexpr int kMostLevels = 4;
constexpr uint64_t kMostCompared = 4096;
constexpr uint64_t kLongestText = 256;
constexpr uint64_t kWord = 8;

uint64_t WordAt(std::span<const uint8_t> bytes, uint64_t offset) {
  uint64_t word = 0;
  memcpy(&word, bytes.data() + offset, kWord);
  return word;
}

bool IsReference(Dwarf_Die type) {
  const TypeKind kind = KindOf(type);
  return kind == TypeKind::kReference || kind == TypeKind::kRvalueReference;
}

// Adds variables and parameters of the function, those of its blocks too; not those of calls that are inlined there.
void AddVariables(Dwarf_Die scope, int depth, std::vector<Dwarf_Die>& found) {
  constexpr int kDeepest = 32;
  for (Dwarf_Die& child : Children(scope)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block && depth < kDeepest) AddVariables(child, depth + 1, found);
    if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) found.push_back(child);
  }
}

std::vector<Dwarf_Die> VariablesOf(const LiveFunction& function) {
  std::vector<Dwarf_Die> found;
  AddVariables(function.die, 0, found);
  return found;
}

}  // namespace

Result<std::unique_ptr<TwinArguments>> TwinArguments::Match(Twin& twin, TargetAddress outer_sp,
                                                            std::vector<ChainLink> chain, const ReportMemory& here,
                                                            ModuleSet& modules) {
  const Error other_way{Errc::kRefused, "the twin comes to it by other calls"};
  const std::vector<TwinCall>& calls = twin.CallsUpTo(outer_sp);
  if (calls.empty() || chain.empty() || !calls.front().values->code().scopes) return other_way;
  std::unique_ptr<TwinArguments> arguments(new TwinArguments(twin, std::move(chain), here, modules));
  if (!arguments->Pair(calls)) return other_way;
  arguments->places_ = PlacesOf(arguments->debug(), *calls.front().function);
  const size_t parameters = arguments->chain_.front().function->parameters.size();
  if (!arguments->places_ || calls.front().function->parameters.size() != parameters)
    return Error{Errc::kRefused, "how the twin passes its arguments is not known"};
  return arguments;
}

// Each call of the program's source has to be one of the twin's, in the same order. The optimiser may have left out
// some that the twin has. Begun with the outermost, so that of a recursion the same ones are paired.
bool TwinArguments::Pair(const std::vector<TwinCall>& calls) {
  calls_ = calls;
  pairs_.assign(calls.size(), nullptr);
  size_t at = calls.size() - 1;
  pairs_[at] = &chain_.back();  // the outer frame
  for (auto link = chain_.rbegin() + 1; link != chain_.rend(); ++link) {
    if (!IsOfSource(*link->function)) continue;
    do {
      if (at == 0) return false;
      --at;
    } while (!IsSameDeclaration(*calls[at].function, *link->function));
    pairs_[at] = &*link;
  }
  return pairs_.front() == &chain_.front();
}

bool TwinArguments::IsOnStack(uint64_t address) const {
  return address >= calls_.front().low.value && address < calls_.back().high.value;
}

bool TwinArguments::IsInTwin(uint64_t address) const {
  const Module* module = twin_.process().FindModule({address});
  return module && module->is_program;
}

std::optional<Bytes> TwinArguments::Raw(size_t position) {
  const PlacedParameter& placed = places_->parameters[position];
  const ParameterInfo& info = calls_.front().function->parameters[position];
  Bytes bytes(placed.indirect ? kWord : info.described.type.size);
  for (const PlacedPiece& piece : placed.pieces) {
    const auto part = calls_.front().values->PieceAtEntry(piece, ValueReader::Callers::kSure);
    if (!part || piece.offset + part->size() > bytes.size()) return std::nullopt;
    std::ranges::copy(*part, bytes.begin() + static_cast<ptrdiff_t>(piece.offset));
  }
  return bytes;
}

std::optional<Bytes> TwinArguments::Passed(size_t position, const PlacedParameter& placed) {
  const ParameterInfo& info = calls_.front().function->parameters[position];
  std::optional<Bytes> bytes = Raw(position);
  if (!bytes || !info.type || placed.indirect != places_->parameters[position].indirect) return std::nullopt;
  if (!placed.indirect) return Translate(*info.type, *bytes, 0) ? bytes : std::nullopt;
  const TargetAddress object = {WordAt(*bytes, 0)};
  const auto copy = CopyOf(object, *info.type, info.described.type.size, 0);
  return copy ? FirstBytes(*copy, kWord) : std::nullopt;
}

std::vector<std::pair<TargetAddress, Bytes>> TwinArguments::Objects() const {
  std::vector<std::pair<TargetAddress, Bytes>> objects;
  for (const Copy& copy : copies_) objects.emplace_back(copy.to, copy.bytes);
  return objects;
}

// Puts the program's addresses into an object that has the twin's.
bool TwinArguments::Translate(Dwarf_Die type, Bytes& bytes, int depth) {
  const auto leaves = LeavesOf(debug(), type);
  if (!leaves) return false;
  for (const Leaf& leaf : *leaves) {
    if (leaf.kind == Leaf::Kind::kValue) continue;
    if (leaf.offset + leaf.size > bytes.size()) return false;
    if (leaf.kind == Leaf::Kind::kOpaque) {
      for (uint64_t at = leaf.offset; at + kWord <= leaf.offset + leaf.size; at += kWord)
        if (IsOnStack(WordAt(bytes, at)) || IsInTwin(WordAt(bytes, at))) return false;
      continue;
    }
    const auto address = Address(WordAt(bytes, leaf.offset), leaf.type, depth);
    if (!address) return false;
    memcpy(bytes.data() + leaf.offset, &*address, kWord);
  }
  return true;
}

// `pointer` is the type of the pointer or the reference.
std::optional<uint64_t> TwinArguments::Address(uint64_t address, std::optional<Dwarf_Die> pointer, int depth) {
  if (IsOnStack(address)) return OfStack(address, pointer, depth);
  if (IsInTwin(address)) return OfProgram(address, pointer);
  const auto pointee = pointer ? TypeOf(*pointer) : std::nullopt;
  if (depth == 0 && pointee && !IsSame(address, address, *pointee)) return std::nullopt;
  return address;
}

// A literal has no symbol. The program may have merged it with another, or have it nowhere.
std::optional<uint64_t> TwinArguments::OfText(uint64_t address) {
  Bytes text;
  do {
    text.push_back(0);
    if (text.size() > kLongestText || !twin_.memory().Read({address + text.size() - 1}, {&text.back(), 1}))
      return std::nullopt;
  } while (text.back() != 0);
  const TargetAddress to = spare_;
  if (text.size() > spare_end_ - to) return std::nullopt;
  spare_ = to + text.size();
  copies_.push_back({{address}, to, std::move(text)});
  return to.value;
}

std::optional<uint64_t> TwinArguments::OfProgram(uint64_t address, std::optional<Dwarf_Die> pointer) {
  for (const Copy& copy : copies_)
    if (address >= copy.from.value && address - copy.from.value < copy.bytes.size())
      return (copy.to + (address - copy.from.value)).value;
  LoadedModule& twin = *twin_.symbols().modules().program();
  LoadedModule& program = *modules_.program();
  const uint64_t offset = address - twin.bias();
  const ElfSymbol* found = nullptr;
  for (const ElfSymbol& symbol : twin.names->symbols())
    if (!symbol.is_thread_local && offset >= symbol.address &&
        offset < symbol.address + std::max<uint64_t>(1, symbol.size))
      found = &symbol;
  const auto pointee = pointer ? TypeOf(*pointer) : std::nullopt;
  if (!found) return pointee && KindOf(*pointee) == TypeKind::kCharacter ? OfText(address) : std::nullopt;
  std::optional<uint64_t> same;
  for (const ElfSymbol& symbol : program.names->symbols()) {
    if (symbol.name != found->name || symbol.is_function != found->is_function) continue;
    if (same || symbol.is_thread_local || symbol.size != (found->is_function ? symbol.size : found->size))
      return std::nullopt;
    same = symbol.address + program.bias() + (offset - found->address);
  }
  return found->is_function && offset != found->address ? std::nullopt : same;
}

std::optional<TwinArguments::Local> TwinArguments::LocalAt(uint64_t address) {
  for (const TwinCall& call : calls_) {
    if (address < call.low.value || address >= call.high.value) continue;
    for (Dwarf_Die& variable : VariablesOf(*call.function)) {
      const auto type = TypeOf(variable);
      const auto place = call.values->AddressAtPc(variable);
      const uint64_t size = type ? TypeSize(*call.values->code().debug, *type) : 0;
      const uint64_t begin = place ? WordAt(*place, 0) : 0;
      if (place && address >= begin && address - begin < size) return Local{variable, {begin}, size, &call};
    }
  }
  return std::nullopt;
}

// The same variable of the same call in the program, if it lies in memory there.
std::optional<uint64_t> TwinArguments::SameLocal(const Local& local) {
  const ChainLink* link = pairs_[static_cast<size_t>(local.call - calls_.data())];
  if (!link) return std::nullopt;
  Dwarf_Die variable = local.variable;
  const std::string name = DieName(variable);
  const uint32_t line = DebugInfo::DeclaredAt(variable).line;
  std::optional<uint64_t> found;
  for (Dwarf_Die& candidate : VariablesOf(*link->function)) {
    if (DieName(candidate) != name || DebugInfo::DeclaredAt(candidate).line != line) continue;
    const auto type = TypeOf(candidate);
    const auto place = link->values->AddressAtPc(candidate);
    if (!place || !type || TypeSize(*link->values->code().debug, *type) != local.size) continue;
    if (found && *found != WordAt(*place, 0)) return std::nullopt;
    found = WordAt(*place, 0);
  }
  return found;
}

std::optional<uint64_t> TwinArguments::OfStack(uint64_t address, std::optional<Dwarf_Die> pointer, int depth) {
  for (const Copy& copy : copies_)
    if (address >= copy.from.value && address - copy.from.value < copy.bytes.size())
      return (copy.to + (address - copy.from.value)).value;
  if (const auto local = LocalAt(address)) {
    const uint64_t offset = address - local->address.value;
    Dwarf_Die variable = local->variable;
    const Dwarf_Die type = *TypeOf(variable);
    const auto same = SameLocal(*local);
    if (same && IsSame(local->address.value, *same, type)) return *same + offset;
    const auto copy = CopyOf(local->address, type, local->size, depth);
    return copy ? std::optional(*copy + offset) : std::nullopt;
  }
  // A temporary. A pointer may lead to one of several.
  const auto pointee = pointer ? TypeOf(*pointer) : std::nullopt;
  const bool is_one = pointer && (IsReference(*pointer) || (pointee && KindOf(*pointee) == TypeKind::kClass));
  if (!is_one || !pointee) return std::nullopt;
  return CopyOf({address}, *pointee, TypeSize(debug(), *pointee), depth);
}

std::optional<uint64_t> TwinArguments::CopyOf(TargetAddress from, Dwarf_Die type, uint64_t size, int depth) {
  const TargetAddress to = {(spare_.value + 15) & ~uint64_t{15}};
  if (size == 0 || depth >= kMostLevels || to > spare_end_ || size > spare_end_ - to) return std::nullopt;
  Bytes bytes(size);
  if (!twin_.memory().Read(from, bytes)) return std::nullopt;
  spare_ = to + size;
  const size_t i = copies_.size();
  copies_.push_back({from, to, bytes});
  if (!Translate(type, bytes, depth + 1)) return std::nullopt;
  copies_[i].bytes = std::move(bytes);
  return to.value;
}

// The twin's replay may have gone another way, or have other blocks at the same addresses. An address that leads
// nowhere in the twin is the same bad one here.
bool TwinArguments::IsSame(uint64_t there_at, uint64_t here_at, Dwarf_Die type) {
  const uint64_t size = std::min(TypeSize(debug(), type), kMostCompared);
  Bytes there(size), here(size);
  const bool is_there = twin_.memory().Read({there_at}, there);
  if (!is_there || !here_.Read({here_at}, here)) return !is_there;
  const auto leaves = LeavesOf(debug(), type);
  if (!leaves) return there == here;
  return std::ranges::all_of(*leaves, [&](const Leaf& leaf) {
    if (leaf.kind == Leaf::Kind::kOpaque || leaf.offset + leaf.size > size) return true;
    if (memcmp(there.data() + leaf.offset, here.data() + leaf.offset, leaf.size) == 0) return true;
    if (leaf.kind == Leaf::Kind::kValue) return false;
    const uint64_t word = WordAt(there, leaf.offset);
    return IsOnStack(word) || IsInTwin(word);
  });
}

}  // namespace recrash
