#include "agent/report/maps.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "agent/report/pages.h"

namespace recrash {
namespace {

// Takes a hexadecimal number and the character that must follow it.
bool TakeHex(std::string_view* text, char terminator, uint64_t* value) {
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), *value, 16);
  if (problem != std::errc() || end == text->data() + text->size() || *end != terminator) return false;
  text->remove_prefix(end - text->data() + 1);
  return true;
}

// Up to the next space, which is taken too.
std::string_view TakeWord(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(text->size(), end + 1));
  return word;
}

// The kernel writes a newline in a name as \012, and nothing else in that manner (a backslash stays as it is).
std::string Unescape(std::string_view name) {
  constexpr std::string_view kNewline = "\\012";
  std::string path;
  for (size_t i = 0; i < name.size();) {
    const bool newline = name.substr(i, kNewline.size()) == kNewline;
    path += newline ? '\n' : name[i];
    i += newline ? kNewline.size() : 1;
  }
  return path;
}

// start-end rwxp offset major:minor inode       path
std::optional<Mapping> ParseLine(std::string_view line) {
  Mapping mapping;
  if (!TakeHex(&line, '-', &mapping.start.value) || !TakeHex(&line, ' ', &mapping.end.value)) return std::nullopt;
  const std::string_view access = TakeWord(&line);
  if (access.size() != 4 || mapping.start >= mapping.end) return std::nullopt;
  if (access[0] == 'r') mapping.flags |= kMapRead;
  if (access[1] == 'w') mapping.flags |= kMapWrite;
  if (access[2] == 'x') mapping.flags |= kMapExecute;
  if (access[3] == 's') mapping.flags |= kMapShared;
  if (!TakeHex(&line, ' ', &mapping.file_offset)) return std::nullopt;
  if (TakeWord(&line).find(':') == std::string_view::npos) return std::nullopt;
  if (TakeWord(&line).empty()) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.path = Unescape(line);
  return mapping;
}

// Of smaps, which has the mapping's flags below its line: "VmFlags: rd wr mr mw me dd ac". MADV_DONTDUMP sets `dd`.
bool IsOutOfDumps(std::string_view line) {
  return line.starts_with("VmFlags:") && (line.ends_with(" dd") || line.find(" dd ") != line.npos);
}

constexpr uint64_t kPage = 4096;

bool IsWithheld(const Mapping& mapping) { return (mapping.flags & kMapWithheld) != 0; }

Mapping Part(const Mapping& mapping, TargetAddress start, TargetAddress end) {
  Mapping part = mapping;
  part.start = start;
  part.end = end;
  if (!mapping.path.empty() && !mapping.path.starts_with('[')) part.file_offset += start - mapping.start;
  return part;
}

}  // namespace

std::vector<Mapping> ParseMaps(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) break;  // cut: a path may be half there
    const std::string_view line = text.substr(0, end);
    if (std::optional<Mapping> mapping = ParseLine(line))
      mappings.push_back(std::move(*mapping));
    else if (IsOutOfDumps(line) && !mappings.empty() && IsPrivateWritable(mappings.back()))
      mappings.back().flags |= kMapWithheld;
    text.remove_prefix(end + 1);
  }
  return mappings;
}

const Mapping* FindMapping(std::span<const Mapping> mappings, TargetAddress address) {
  const auto next = std::ranges::upper_bound(mappings, address, {}, &Mapping::start);
  return next != mappings.begin() && address < std::prev(next)->end ? &*std::prev(next) : nullptr;
}

bool IsWritable(std::span<const Mapping> mappings, TargetAddress address) {
  return std::ranges::any_of(mappings, [address](const Mapping& mapping) {
    return IsPrivateWritable(mapping) && address >= mapping.start && address < mapping.end;
  });
}

std::vector<Mapping> GoneMappings(const std::vector<Mapping>& then, const std::vector<Mapping>& now) {
  std::vector<Mapping> gone;
  for (const Mapping& mapping : then) {
    if (!IsPrivateWritable(mapping)) continue;
    uint64_t at = mapping.start.value;
    for (const Mapping& other : now) {
      if (other.end.value <= at || other.start.value >= mapping.end.value) continue;
      if (other.start.value > at) {
        gone.push_back(mapping);
        gone.back().start = {at};
        gone.back().end = other.start;
      }
      at = std::max(at, other.end.value);
    }
    if (at >= mapping.end.value) continue;
    gone.push_back(mapping);
    gone.back().start = {at};
  }
  return gone;
}

void Withhold(TargetAddress start, TargetAddress end, std::vector<Mapping>* mappings) {
  start.value -= start.value % kPage;
  if (end.value < UINT64_MAX - kPage) end.value += (kPage - end.value % kPage) % kPage;
  std::vector<Mapping> parts;
  for (const Mapping& mapping : *mappings) {
    const TargetAddress from = std::max(start, mapping.start);
    const TargetAddress to = std::min(end, mapping.end);
    if (!IsPrivateWritable(mapping) || from >= to) {
      parts.push_back(mapping);
      continue;
    }
    if (mapping.start < from) parts.push_back(Part(mapping, mapping.start, from));
    parts.push_back(Part(mapping, from, to));
    parts.back().flags |= kMapWithheld;
    if (to < mapping.end) parts.push_back(Part(mapping, to, mapping.end));
  }
  *mappings = std::move(parts);
}

std::vector<Region> Outside(std::vector<Region> regions, TargetAddress start, TargetAddress end) {
  std::vector<Region> rest;
  for (Region& region : regions) {
    const TargetAddress region_end = region.address + region.bytes.size();
    if (region_end <= start || region.address >= end) {
      rest.push_back(std::move(region));
      continue;
    }
    const auto at = [&](TargetAddress address) {
      return region.bytes.begin() + static_cast<ptrdiff_t>(address - region.address);
    };
    if (region.address < start) rest.push_back({region.address, {region.bytes.begin(), at(start)}});
    if (end < region_end) rest.push_back({end, {at(end), region.bytes.end()}});
  }
  return rest;
}

void DropWithheld(Report* report) {
  for (const Mapping& mapping : report->mappings) {
    if (!IsWithheld(mapping)) continue;
    report->memory = Outside(std::move(report->memory), mapping.start, mapping.end);
    if (report->snapshots)
      ChangeLayers(&report->snapshots->states,
                   [&](EntryMemory::Layer* layer) { *layer = Outside(std::move(*layer), mapping.start, mapping.end); });
    // What is left of a stack would lie elsewhere.
    const auto reaches_into = [&](const ThrownStack& stack) {
      return stack.address < mapping.end && mapping.start < stack.address + stack.bytes.size();
    };
    if (report->thrown && reaches_into(*report->thrown)) report->thrown.reset();
    if (report->replaced && reaches_into(report->replaced->stack)) report->replaced.reset();
  }
}

// The states of tests: each has all its pages afterwards, whatever it shared with others.
void DropWithheld(TestReport* report) {
  if (!std::ranges::any_of(report->mappings, IsWithheld)) return;
  for (EntryState& state : report->replay.entry_states) {
    std::vector<Region> memory = JoinPages(PagesOf(*report, state));
    for (const Mapping& mapping : report->mappings)
      if (IsWithheld(mapping)) memory = Outside(std::move(memory), mapping.start, mapping.end);
    state.memory = EntryMemory(std::move(memory));
  }
  DropWithheld(static_cast<Report*>(report));
}

std::vector<Region> CutAtMappings(std::vector<Region> regions, std::span<const Mapping> mappings) {
  std::vector<Region> cut;
  auto mapping = mappings.begin();
  for (Region& region : regions) {
    uint64_t from = 0;
    const auto add = [&](uint64_t to) {
      if (from == 0 && to == region.bytes.size()) return cut.push_back(std::move(region));
      cut.push_back({{region.address.value + from}, {region.bytes.begin() + from, region.bytes.begin() + to}});
      from = to;
    };
    const uint64_t end = region.address.value + region.bytes.size();
    for (; mapping != mappings.end() && mapping->end.value < end; ++mapping)
      if (mapping->end.value > region.address.value + from) add(mapping->end - region.address);
    add(region.bytes.size());
  }
  return cut;
}

uint64_t WithheldBytes(const std::vector<Mapping>& mappings) {
  uint64_t bytes = 0;
  for (const Mapping& mapping : mappings)
    if (IsWithheld(mapping)) bytes += mapping.end - mapping.start;
  return bytes;
}

}  // namespace recrash
