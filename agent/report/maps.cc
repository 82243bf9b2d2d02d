#include "agent/report/maps.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

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

}  // namespace

std::vector<Mapping> ParseMaps(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) break;  // cut: a path may be half there
    if (std::optional<Mapping> mapping = ParseLine(text.substr(0, end))) mappings.push_back(std::move(*mapping));
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

}  // namespace recrash
