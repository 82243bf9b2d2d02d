// One line of a profile, the text file that names the functions to watch:
//
//   # recrash profile 1
//   # build-id offset linkage-name entries microseconds snapshots inclusive-ns
//   3f2a9c…  0x4a10  _ZN4Tree6InsertEi  1204  31250 17 48211
//
// Words are separated by blanks; `-` stands for what is not known; lines that begin with `#` are comments.
//  - `offset` is the entry's address in the file, as the symbol has it. In the build with this build-id the entry is
//  found
//    by it, in all others by the name.
//  - The others are of one run: how often the function was entered, how long its snapshots took, how many there were,
//  and
//    how long a call took from entry to return. A line may end before any of these.
//
// Pure, without allocation: the client reads profiles with it, and the tools do.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_PROFILE_LINE_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_PROFILE_LINE_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string_view>

#include "agent/base/signal_safe/text.h"

namespace recrash::signal_safe {

constexpr size_t kMostProfileBytes = 16u << 20;  // a larger file is not read
constexpr size_t kLongestLine = 64u << 10;
constexpr char kProfileSuffix[] = ".recrash-profile";

struct ProfileLine {
  std::string_view build_id;  // lower-case hex; empty: not known
  std::optional<uint64_t> offset;
  std::string_view name;  // empty: not known
  std::optional<uint64_t> entries;
  std::optional<uint64_t> microseconds;
  std::optional<uint64_t> snapshots;
  std::optional<uint64_t> inclusive_ns;
};

enum class LineKind : uint8_t { kEmpty, kFunction, kDamaged };

namespace profile_line_internal {

inline bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes the first word off `text`; empty: there is none.
inline std::string_view TakeWord(std::string_view* text) {
  while (!text->empty() && IsBlank(text->front())) text->remove_prefix(1);
  const char* const begin = text->data();
  while (!text->empty() && !IsBlank(text->front())) text->remove_prefix(1);
  return {begin, static_cast<size_t>(text->data() - begin)};
}

inline std::string_view Known(std::string_view word) { return word == "-" ? std::string_view() : word; }

inline bool IsHex(std::string_view word) {
  for (const char c : word)
    if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return false;
  return true;
}

// Returns false if the word is not such a number. No word leaves the number unknown.
inline bool ReadNumber(std::string_view word, unsigned base, std::optional<uint64_t>* number) {
  if (word.empty()) return true;
  const char* at = word.data();
  *number = signal_safe::ReadNumber(at, base, word.end());
  return at == word.end();
}

inline bool ReadOffset(std::string_view word, std::optional<uint64_t>* offset) {
  if (word.empty()) return true;
  if (word.size() < 3 || word[0] != '0' || word[1] != 'x') return false;
  word.remove_prefix(2);
  return ReadNumber(word, 16, offset);
}

inline bool IsName(std::string_view word) {
  for (const char c : word)
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7f) return false;
  return !word.empty();
}

}  // namespace profile_line_internal

// `text` without its line break.
inline LineKind ParseProfileLine(std::string_view text, ProfileLine* line) {
  using namespace profile_line_internal;
  *line = ProfileLine();
  if (text.size() > kLongestLine) return LineKind::kDamaged;
  const std::string_view build_id = TakeWord(&text), offset = TakeWord(&text), name = TakeWord(&text);
  if (build_id.empty() || build_id[0] == '#') return LineKind::kEmpty;
  line->build_id = Known(build_id);
  line->name = Known(name);
  if (!IsHex(line->build_id) || line->build_id.size() > 128 || line->build_id.size() % 2 != 0 || !IsName(name) ||
      !ReadOffset(Known(offset), &line->offset))
    return LineKind::kDamaged;
  const bool by_offset = line->offset && !line->build_id.empty();
  if (!by_offset && line->name.empty()) return LineKind::kDamaged;  // it says nothing
  for (const auto counter :
       {&ProfileLine::entries, &ProfileLine::microseconds, &ProfileLine::snapshots, &ProfileLine::inclusive_ns})
    if (!ReadNumber(Known(TakeWord(&text)), 10, &(line->*counter))) return LineKind::kDamaged;
  return TakeWord(&text).empty() ? LineKind::kFunction : LineKind::kDamaged;
}

// The line that begins at `at`, which moves behind its line break.
inline LineKind NextProfileLine(const char*& at, const char* end, ProfileLine* line) {
  const char* const begin = at;
  while (at < end && *at != '\n') ++at;
  const std::string_view text(begin, static_cast<size_t>(at - begin));
  if (at < end) ++at;
  return ParseProfileLine(text, line);
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_PROFILE_LINE_H_
