// Where objects go, and which frames cannot be called. convert.cc has how one object is made of another.
#include "testgen/carry/carry.h"

#include <algorithm>
#include <cstring>

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHeader = 16;   // of a block of malloc's
constexpr uint64_t kIsMapped = 2;  // flag in its size
constexpr uint64_t kMostPages = 256u << 20;

}  // namespace

void Carrier::AddVariable(const TypePair& type, uint64_t address, const std::string&) {
  walk_.AddVariable(type, address);
  variables_.push_back(address);
}

void Carrier::AddArgument(const TypePair& type, std::span<const uint8_t> bytes, bool indirect,
                          const std::string& name) {
  Argument argument{type, {bytes.begin(), bytes.end()}, indirect, name, {}};
  if (name == "this" && bytes.size() == 8) {
    uint64_t address = 0;
    std::memcpy(&address, bytes.data(), 8);
    walk_.AddPointer({types_->before(type).target, types_->now(type).target}, address);
  }
  if (!indirect) {
    argument.leads = walk_.LookAt(type, bytes);
  } else if (bytes.size() == 8) {
    uint64_t address = 0;
    std::memcpy(&address, bytes.data(), 8);
    walk_.AddPointer(type, address);
    argument.leads.leads_to = {address};
  }
  arguments_.push_back(std::move(argument));
}

CarriedMemory Carrier::Carry() {
  const bool all_found = walk_.Run();
  for (FoundObject& object : walk_.TakeObjects()) places_.push_back({std::move(object), false, 0});
  PlaceObjects();
  FindUntyped();
  ConvertObjects();
  carried_.problem = ProblemBehind(variables_);
  for (const Argument& argument : arguments_) {
    carried_.arguments.push_back(ConvertArgument(argument));
    if (!all_found) carried_.arguments.back().problem = "its arguments lead to more objects than can be carried over";
  }
  return std::move(carried_);
}

const Carrier::Place* Carrier::Find(uint64_t address) const {
  auto after = std::ranges::upper_bound(places_, address, {}, [](const Place& place) { return place.object.address; });
  if (after == places_.begin()) return nullptr;
  const Place& place = *--after;
  return address <= place.object.end() ? &place : nullptr;
}

// Why a changed object cannot have another place; empty: it can.
std::string Carrier::WhyNotMoved(const Place& place) const {
  if (place.object.freed) return "it is freed, and larger now";
  if (place.object.home == Home::kPartOfBlock) return "it is larger now, and a part of a block of the heap";
  return "";
}

void Carrier::PlaceObjects() {
  uint64_t next = recorded_.free_pages;
  for (Place& place : places_) {
    FoundObject& object = place.object;
    place.address = object.address;
    place.changed = !types_->Difference(object.type).empty();
    const uint64_t size = object.count * types_->now(object.type).size;
    if (!place.changed || object.home == Home::kVariable) continue;
    if (object.home == Home::kElsewhere && !object.is_whole && object.problem.empty())
      object.problem = "it lies neither in the heap nor in a variable, and may be one of an array";
    if (size <= object.room) continue;
    std::string why = WhyNotMoved(place);
    if (why.empty() && next - recorded_.free_pages + size > kMostPages) why = "too much memory would have to move";
    if (!why.empty() && object.problem.empty()) object.problem = why;
    if (!object.problem.empty()) continue;
    place.address = next + kHeader + object.lead;
    next += (kHeader + object.lead + size + kPage - 1) / kPage * kPage;
  }
}

// Words that may be pointers to anything must not lead to what has changed, or may have.
void Carrier::FindUntyped() {
  const std::vector<TypePair> changed = types_->ChangedClasses();
  const auto may_hold = [&](const RecordedBlock& block) -> const TypeLayout* {
    for (const TypePair& pair : changed)
      if (UsableSize(types_->before(pair).size) == block.size) return &types_->before(pair);
    return nullptr;
  };
  for (Place& place : places_) {
    FoundObject& object = place.object;
    for (const uint64_t word : object.untyped) {
      const Place* found = Find(word);
      if (found && found->changed && object.problem.empty())
        object.problem = "an untyped pointer in it leads to an object of " + types_->before(found->object.type).name;
      const RecordedBlock* block = found ? nullptr : heap_.Find(word);
      const TypeLayout* type = block && block->in_use && block->address == word ? may_hold(*block) : nullptr;
      if (type && object.problem.empty())
        object.problem = "an untyped pointer in it leads to what may be an object of " + type->name;
    }
    const RecordedBlock* block = object.home == Home::kPartOfBlock ? heap_.Find(object.address) : nullptr;
    const TypeLayout* type = block && !place.changed ? may_hold(*block) : nullptr;
    if (type && object.problem.empty()) object.problem = "it is a part of what may be an object of " + type->name;
  }
}

void Carrier::ConvertObjects() {
  for (Place& place : places_)
    if (place.object.problem.empty()) ConvertPlace(&place);
}

void Carrier::ConvertPlace(Place* place) {
  FoundObject& object = place->object;
  const uint64_t size = types_->before(object.type).size, size_now = types_->now(object.type).size;
  std::vector<uint8_t> before(size * object.live);
  if (!recorded_.read(object.address, before)) return;
  const uint64_t elements = place->changed ? object.count : object.live;
  std::vector<uint8_t> now(place->changed ? elements * size_now : before.size());
  for (uint64_t i = 0; i < object.live; ++i) {
    const uint64_t step = place->changed ? size_now : size;
    why_.clear();
    if (Convert(object.type, std::span(before).subspan(i * size, size), std::span(now).subspan(i * step, step),
                place->address + i * step))
      continue;
    object.problem = why_;
    return;
  }
  if (place->changed && object.home == Home::kVariable) {
    carried_.variables[object.address] = {object.address, std::move(now)};
  } else if (place->address != object.address) {
    std::vector<uint8_t> pages((kHeader + object.lead + now.size() + kPage - 1) / kPage * kPage);
    const uint64_t chunk = pages.size() | kIsMapped;
    std::memcpy(pages.data() + 8, &chunk, sizeof chunk);
    if (object.lead == sizeof object.count) std::memcpy(pages.data() + kHeader, &object.count, sizeof object.count);
    std::memcpy(pages.data() + kHeader + object.lead, now.data(), now.size());
    carried_.pages.push_back({place->address - kHeader - object.lead, std::move(pages)});
  } else if (now != before) {
    carried_.writes.push_back({object.address, std::move(now)});
  }
}

std::string Carrier::ProblemBehind(const std::vector<uint64_t>& roots) const {
  std::set<const Place*> seen;
  std::vector<uint64_t> left = roots;
  while (!left.empty()) {
    const Place* place = Find(left.back());
    left.pop_back();
    if (!place || !seen.insert(place).second) continue;
    const FoundObject& object = place->object;
    if (!object.problem.empty()) {
      std::string change = types_->Difference(object.type);
      if (change.empty()) change = types_->ChangeBehind(object.type);
      return (change.empty() ? "" : change + "; ") + "an object of " + types_->before(object.type).name +
             " cannot be carried over: " + object.problem;
    }
    left.insert(left.end(), object.leads_to.begin(), object.leads_to.end());
  }
  return "";
}

CarriedArgument Carrier::ConvertArgument(const Argument& argument) {
  CarriedArgument converted{argument.bytes, ""};
  std::vector<uint64_t> roots = argument.leads.leads_to;
  roots.insert(roots.end(), variables_.begin(), variables_.end());
  converted.problem = ProblemBehind(roots);
  for (const uint64_t word : argument.leads.untyped)
    if (const Place* place = Find(word); place && place->changed && converted.problem.empty())
      converted.problem = types_->Difference(place->object.type) + "; the argument `" + argument.name +
                          "` is an untyped pointer to an object of it";
  if (!converted.problem.empty()) return converted;
  if (argument.indirect) {
    uint64_t value = 0;
    if (argument.bytes.size() == 8) std::memcpy(&value, argument.bytes.data(), 8);
    const auto mapped = MapPointer(value, argument.type);
    if (mapped) std::memcpy(converted.bytes.data(), &*mapped, converted.bytes.size());
    return converted;
  }
  const std::string& difference = types_->Difference(argument.type);
  why_.clear();
  if (!difference.empty())
    converted.problem = difference + "; the argument `" + argument.name + "` cannot be carried over";
  else if (!Convert(argument.type, argument.bytes, converted.bytes, 0))
    converted.problem = "the argument `" + argument.name + "`: " + why_;
  return converted;
}

}  // namespace recrash
