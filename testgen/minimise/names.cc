#include "testgen/minimise/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "agent/base/readable_name.h"
#include "testgen/replay/plan/fill.h"

namespace recrash {
namespace {

constexpr uint64_t kWord = 8;
constexpr size_t kMostObjects = 50'000;
constexpr uint64_t kMostSteps = 2'000'000;
constexpr uint64_t kMostBytes = 1u << 20;  // of one object
constexpr uint64_t kMostElements = 100'000;
constexpr size_t kLongestPath = 200;
constexpr size_t kLongestText = 60;
constexpr int kDeepest = 24;

uint64_t Number(std::span<const uint8_t> bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  return number;
}

uint64_t WordAt(std::span<const uint8_t> bytes, uint64_t offset) {
  return offset <= bytes.size() && bytes.size() - offset >= kWord ? Number(bytes.subspan(offset, kWord)) : 0;
}

int64_t Signed(uint64_t number, uint64_t size) {
  const uint64_t shift = size < 8 ? 64 - 8 * size : 0;
  return static_cast<int64_t>(number << shift) >> shift;
}

// What its members are called is the library's own business.
bool IsOfLibrary(const TypeLayout& type) {
  return type.name.starts_with("std::") || type.name.starts_with("__gnu_cxx::");
}

bool IsNode(const std::string& name) {
  return name.starts_with("std::_Rb_tree_node<") || name.starts_with("std::_List_node<") ||
         name.starts_with("std::__detail::_Hash_node<") || name.starts_with("std::_Fwd_list_node<");
}

bool IsBaseOfNodes(const std::string& name) {
  return name == "std::_Rb_tree_node_base" || name == "std::__detail::_List_node_base" ||
         name == "std::__detail::_Hash_node_base" || name == "std::_Fwd_list_node_base";
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongestText)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + (text.size() > kLongestText ? "\"..." : "\"");
}

bool IsText(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t c) { return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t'; });
}

std::string FloatText(std::span<const uint8_t> bytes) {
  if (bytes.size() == sizeof(float)) {
    float value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return fmt::format("{}", value);
  }
  double value = 0;
  if (bytes.size() != sizeof value) return "";
  std::memcpy(&value, bytes.data(), sizeof value);
  return fmt::format("{}", value);
}

}  // namespace

std::string ScalarText(const TypeLayout& type, std::span<const uint8_t> bytes) {
  const uint64_t number = Number(bytes);
  switch (type.form) {
    case TypeForm::kPointer:
    case TypeForm::kMemberPointer:
      return number == 0 ? "nullptr" : fmt::format("{:#x}", number);
    case TypeForm::kFloat:
      return FloatText(bytes);
    case TypeForm::kEnum:
      for (const TypeMember& member : type.members)
        if (member.role == MemberRole::kEnumerator && Signed(member.offset, type.size) == Signed(number, type.size))
          return member.name;
      [[fallthrough]];
    default:
      break;
  }
  if (type.name == "bool" && number < 2) return number ? "true" : "false";
  if (type.name == "char" && number >= ' ' && number < 0x7f) return fmt::format("'{}'", static_cast<char>(number));
  return type.is_signed ? std::to_string(Signed(number, bytes.size())) : std::to_string(number);
}

const TypeLayout& WordNames::At(uint32_t type) const {
  static const TypeLayout kNone;
  return image_ && type < image_->types.size() ? image_->types[type] : kNone;
}

const NamedWord& WordNames::at(uint64_t word) const {
  static const NamedWord kNone;
  const auto found = named_.find(word);
  return found != named_.end() ? found->second : kNone;
}

void WordNames::Find(const std::map<uint64_t, uint8_t>& words, const std::function<uint64_t(uint64_t)>& block_of) {
  wanted_ = words;
  const Module* module = report_.FindModule(frame_.function_address());
  image_ = module ? report_.replay.FindImage(*module) : nullptr;
  if (image_) {
    AddArguments();
    Run();
    LookBehind(block_of);
  }
  for (const ModuleImage& image : report_.replay.images) {
    image_ = &image;
    AddGlobals();
    Run();
  }
}

// Of a class that is passed in several words.
std::vector<uint8_t> WordNames::WholeOf(const ReplayParameter& parameter, uint64_t size) const {
  std::vector<uint8_t> whole(size);
  for (const ReplayWord& word : frame_.words) {
    if (word.parameter != parameter.number || word.source_offset >= size) continue;
    const size_t fits = std::min<size_t>({word.size, word.bytes.size(), size - word.source_offset});
    std::copy_n(word.bytes.begin(), fits, whole.begin() + word.source_offset);
  }
  return whole;
}

// What a register has of an argument lies at its place in the register, for as many bytes.
void WordNames::AddArgument(const ReplayParameter& parameter) {
  const TypeLayout& type = At(parameter.type);
  for (const ReplayWord& word : frame_.words) {
    if (word.parameter != parameter.number) continue;
    const bool is_stack = word.location == abi::Location::kStack;
    const uint64_t place = is_stack ? frame_.entry_sp.value + kWord + word.stack_offset
                                    : plan::RegisterAddress(static_cast<uint32_t>(word.location));
    const auto bytes = std::span(word.bytes).first(std::min<size_t>(word.size, word.bytes.size()));
    std::string name = parameter.name;
    if (name.empty()) name = parameter.number == 0 ? "the result" : fmt::format("argument {}", parameter.number);
    if (parameter.indirect) {
      Name(place, kWord, "&" + name, fmt::format("{:#x}", Number(bytes)));
      Add({Number(bytes), parameter.type, {name}, {}});
    } else if (type.form == TypeForm::kClass || type.form == TypeForm::kUnion || type.form == TypeForm::kArray) {
      // As if the object began before the register.
      const std::vector<uint8_t> whole = WholeOf(parameter, std::min(type.size, kMostBytes));
      LookAt(parameter.type, place - word.source_offset, whole, {name}, {}, 0);
    } else {
      LookAt(parameter.type, place, bytes, {name}, {}, 0);
    }
  }
}

void WordNames::AddArguments() {
  for (const ReplayParameter& parameter : frame_.parameters) AddArgument(parameter);
}

void WordNames::AddGlobals() {
  for (const Variable& variable : image_->variables)
    Add({image_->base.value + variable.offset, variable.type, {variable.name}, {}});
}

bool WordNames::IsWanted(uint64_t start, uint64_t size) const {
  const auto next = wanted_.lower_bound(start / kWord * kWord);
  return next != wanted_.end() && next->first < start + size;
}

void WordNames::Name(uint64_t start, uint64_t size, const std::string& path, const std::string& value, bool is_number) {
  for (auto word = wanted_.lower_bound(start / kWord * kWord); word != wanted_.end() && word->first < start + size;) {
    uint8_t mine = 0;
    for (uint64_t i = 0; i < kWord; ++i)
      if (word->first + i >= start && word->first + i < start + size) mine |= static_cast<uint8_t>(1u << i);
    mine &= word->second;
    if (mine) {
      NamedWord& named = named_[word->first];
      named.path += (named.path.empty() ? "" : ", ") + path;
      named.value += (named.value.empty() ? "" : ", ") + value;
      named.is_number = is_number;
    }
    word->second &= static_cast<uint8_t>(~mine);
    word = word->second ? std::next(word) : wanted_.erase(word);
  }
}

void WordNames::Add(Object object) {
  if (object.address == 0 || seen_.size() >= kMostObjects || object.spot.path.size() > kLongestPath) return;
  if (At(object.type).size == 0 || !seen_.insert({object.address, object.type}).second) return;
  if (object.spot.is_behind) behind_.try_emplace(object.address, object);
  left_.push_back(std::move(object));
}

// The nearest first: the shortest way names a word.
void WordNames::Run() {
  for (; !left_.empty() && !wanted_.empty() && steps_ < kMostSteps; left_.pop_front()) Look(Object(left_.front()));
  left_.clear();
}

// Objects behind one that a pointer leads to.
void WordNames::LookBehind(const std::function<uint64_t(uint64_t)>& block_of) {
  const std::map<uint64_t, uint8_t> wanted = wanted_;
  for (const auto& [word, mask] : wanted) {
    const auto after = behind_.upper_bound(word);
    if (after == behind_.begin() || !wanted_.contains(word) || named_.contains(word)) continue;
    Object object = std::prev(after)->second;
    const uint64_t size = At(object.type).size, number = (word - object.address) / size;
    const uint64_t block = block_of(word);
    if (number == 0 || number > kMostElements || block == 0 || block_of(object.address) != block) continue;
    object.address += number * size;
    object.spot = object.spot.Element(number);
    Look(object);
  }
}

void WordNames::Look(const Object& object) {
  // A virtual base, which the layout of the whole does not have, lies there as what it was declared to be.
  LookAs(object.type, object.address, object);
  if (const auto [type, address] = Dynamic(object.type, object.address); type != object.type)
    LookAs(type, address, object);
}

void WordNames::LookAs(uint32_t type, uint64_t address, const Object& object) {
  const uint64_t size = At(type).size;
  if (size == 0 || size > kMostBytes) return;
  std::vector<uint8_t> bytes(size);
  // Zeros, where a page was never written.
  if (!memory_.Read(address, bytes)) {
    if (!IsWanted(address, size)) return;
    std::ranges::fill(bytes, 0);
  }
  LookAt(type, address, bytes, object.spot, object.container, 0);
}

// The class that the vtable says, and where its object begins.
std::pair<uint32_t, uint64_t> WordNames::Dynamic(uint32_t type, uint64_t address) const {
  const auto has_vtable = [&](uint32_t one) {
    return std::ranges::any_of(At(one).members,
                               [](const TypeMember& member) { return member.role == MemberRole::kVtable; });
  };
  uint64_t vtable = 0;
  if (At(type).derived.empty() && !has_vtable(type)) return {type, address};
  if (!memory_.Read(address, {reinterpret_cast<uint8_t*>(&vtable), sizeof vtable})) return {type, address};
  const uint64_t offset = vtable - image_->base.value;
  const auto after = std::ranges::upper_bound(image_->symbols, offset, {}, &Symbol::offset);
  if (after == image_->symbols.begin()) return {type, address};
  const Symbol& symbol = *std::prev(after);
  const std::string name = Demangle(symbol.name.substr(0, symbol.name.find('@')));
  constexpr std::string_view kVtable = "vtable for ";
  if (offset - symbol.offset >= symbol.size || !name.starts_with(kVtable)) return {type, address};
  // Ahead of the table's functions stands where the whole object begins.
  uint64_t to_top = 0;
  if (!memory_.Read(vtable - 2 * kWord, {reinterpret_cast<uint8_t*>(&to_top), sizeof to_top})) return {type, address};
  if (-to_top > kMostBytes) return {type, address};
  std::vector<uint32_t> left = {type};
  for (size_t i = 0; i < left.size() && left.size() < 1000; ++i) {
    if (At(left[i]).name == name.substr(kVtable.size())) return {left[i], address + to_top};
    left.insert(left.end(), At(left[i]).derived.begin(), At(left[i]).derived.end());
  }
  return {type, address};
}

void WordNames::LookAt(uint32_t type, uint64_t address, std::span<const uint8_t> bytes, const Spot& spot,
                       const Container& container, int depth) {
  const TypeLayout& layout = At(type);
  if (++steps_ > kMostSteps || depth > kDeepest || spot.path.size() > kLongestPath) return;
  bytes = bytes.first(std::min<uint64_t>(bytes.size(), layout.size ? layout.size : bytes.size()));
  switch (layout.form) {
    case TypeForm::kClass:
    case TypeForm::kUnion:
      return LookAtClass(type, address, bytes, spot, container, depth);
    case TypeForm::kArray: {
      const uint64_t size = At(layout.target).size;
      for (uint64_t i = 0; size && i < std::min(layout.count, kMostElements) && (i + 1) * size <= bytes.size(); ++i)
        LookAt(layout.target, address + i * size, bytes.subspan(i * size, size), spot.Element(i), container, depth + 1);
      return;
    }
    case TypeForm::kUnknown:
      return;
    case TypeForm::kPointer:
      LookAtPointer(layout, Number(bytes), spot, container);
      [[fallthrough]];
    default:
      if (IsWanted(address, bytes.size()))
        Name(address, bytes.size(), spot.Whole(), ScalarText(layout, bytes), layout.form != TypeForm::kPointer);
  }
}

std::optional<uint64_t> WordNames::OffsetOf(uint32_t type, const std::string& member, int depth) const {
  for (const TypeMember& one : At(type).members) {
    if (one.role == MemberRole::kEnumerator || one.role == MemberRole::kVirtualBase) continue;
    if (one.name == member && one.role == MemberRole::kMember) return one.offset;
    const TypeForm form = At(one.type).form;
    if (depth > 6 || (form != TypeForm::kClass && form != TypeForm::kUnion)) continue;
    if (const auto inner = OffsetOf(one.type, member, depth + 1)) return one.offset + *inner;
  }
  return std::nullopt;
}

// A text of libstdc++: its characters are the value of all its words.
bool WordNames::LookAtText(uint32_t type, uint64_t address, std::span<const uint8_t> bytes, const Spot& spot) {
  const std::string& name = At(type).name;
  const bool is_text = name == "std::string" || name.starts_with("std::__cxx11::basic_string<char") ||
                       name.starts_with("std::basic_string<char");
  if (!is_text) return false;
  const auto start = OffsetOf(type, "_M_p", 0), length = OffsetOf(type, "_M_string_length", 0);
  if (!start || !length) return false;
  const uint64_t data = WordAt(bytes, *start), size = WordAt(bytes, *length);
  std::vector<uint8_t> text(std::min<uint64_t>(size, kMostBytes));
  const bool is_known = memory_.Read(data, text) && IsText(text);
  const std::string value =
      is_known ? Quoted({reinterpret_cast<const char*>(text.data()), text.size()}) : fmt::format("{:#x}", data);
  Name(address + *start, kWord, spot.Member("data()").path, fmt::format("{:#x}", data));
  Name(address + *length, kWord, spot.Member("size()").path, std::to_string(size), true);
  if (is_known) Name(data, size + 1, spot.Whole(), value, true);
  Name(address, bytes.size(), spot.Whole(), value, true);
  return true;
}

// Elements from _M_start to _M_finish.
bool WordNames::LookAtVector(uint32_t type, std::span<const uint8_t> bytes, const Spot& spot) {
  const TypeLayout& layout = At(type);
  if (!layout.name.starts_with("std::vector<") || layout.name.starts_with("std::vector<bool")) return false;
  const auto start = OffsetOf(type, "_M_start", 0), finish = OffsetOf(type, "_M_finish", 0);
  if (!start || !finish || layout.arguments.empty()) return false;
  const uint64_t first = WordAt(bytes, *start), used = WordAt(bytes, *finish) - first;
  const uint64_t size = At(layout.arguments[0]).size;
  if (first && size && used % size == 0 && used / size <= kMostElements) {
    const Spot elements{spot.is_behind ? "(*" + spot.path + ")" : spot.path};
    for (uint64_t i = 0; i < used / size && steps_ < kMostSteps; ++i)
      Add({first + i * size, layout.arguments[0], elements.Element(i), {}});
  }
  return false;  // its own words are named as members
}

// Which nodes the pointers in it lead to.
void WordNames::EnterContainer(uint32_t type, uint64_t address, const Spot& spot, Container* container) const {
  for (const uint32_t argument : At(type).arguments) {
    if (!IsNode(At(argument).name)) continue;
    *container = {argument, address, address + At(type).size, spot.is_behind ? "(*" + spot.path + ")" : spot.path, 0};
    return;
  }
}

void WordNames::LookAtClass(uint32_t type, uint64_t address, std::span<const uint8_t> bytes, const Spot& spot,
                            Container container, int depth) {
  const TypeLayout& layout = At(type);
  if (LookAtText(type, address, bytes, spot)) return;
  LookAtVector(type, bytes, spot);
  EnterContainer(type, address, spot, &container);
  const bool is_library = IsOfLibrary(layout);
  // Raw room for a value of the library's nodes.
  const bool is_room = layout.name.starts_with("__gnu_cxx::__aligned_");
  if (is_room && !layout.arguments.empty()) return LookAt(layout.arguments[0], address, bytes, spot, {}, depth + 1);
  for (const TypeMember& member : layout.members) {
    if (member.role == MemberRole::kEnumerator || member.role == MemberRole::kVirtualBase) continue;
    if (member.offset >= bytes.size()) continue;
    const auto part = bytes.subspan(member.offset);
    if (member.role == MemberRole::kVtable) {
      Name(address + member.offset, kWord, "the vtable of " + spot.Whole(), fmt::format("{:#x}", WordAt(part, 0)));
      continue;
    }
    // The end of a vector's elements leads to none.
    if (is_library && (member.name == "_M_finish" || member.name.starts_with("_M_end"))) {
      Name(address + member.offset, kWord, spot.Member(member.name.substr(3)).path,
           fmt::format("{:#x}", WordAt(part, 0)));
      continue;
    }
    const TypeForm form = At(member.type).form;
    const bool is_whole = form == TypeForm::kClass || form == TypeForm::kUnion || form == TypeForm::kArray;
    std::string name = member.role == MemberRole::kBase ? "" : member.name;
    if (is_library && name.starts_with("_M_")) name = is_whole ? "" : name.substr(3);
    LookAt(member.type, address + member.offset, part, spot.Member(name), container, depth + 1);
  }
}

void WordNames::LookAtPointer(const TypeLayout& type, uint64_t value, const Spot& spot, const Container& container) {
  if (value == 0) return;
  const TypeLayout& target = At(type.target);
  if (IsBaseOfNodes(target.name) && container.node) {
    if (value >= container.start && value < container.end) return;
    Container next = container;
    // A list goes from one to the next; of trees and tables nobody counts the nodes.
    const bool is_list = At(container.node).name.starts_with("std::_List_node<");
    if (is_list && !spot.path.ends_with("next")) return;
    next.next = container.next + 1;
    Add({value,
         container.node,
         {is_list ? fmt::format("{}[{}]", container.path, container.next)
                  : fmt::format("{}[node {}]", container.path, nodes_[container.path]++)},
         next});
    return;
  }
  const bool is_reference = type.name.ends_with('&');
  if (target.form == TypeForm::kInteger && target.size == 1) {
    std::vector<uint8_t> text;
    for (uint8_t c = 0; text.size() < 4096 && memory_.Read(value + text.size(), {&c, 1}) && c;) text.push_back(c);
    const bool is_text = !text.empty() && IsText(text);
    if (is_text && target.name == "char")
      Name(value, text.size() + 1, spot.Whole(), Quoted({reinterpret_cast<const char*>(text.data()), text.size()}),
           true);
  }
  Add({value, type.target, {spot.is_behind ? "(*" + spot.path + ")" : spot.path, !is_reference}, container});
}

}  // namespace recrash
