// One line of a profile, the text file that names the functions to watch:
//
//   # recrash profile 1
//   # build-id offset linkage-name entries microseconds snapshots inclusive-ns
//   3f2a9c…  0x4a10  _ZN4Tree6InsertEi  1204  31250 17 48211
//
// Words are separated by blanks; `-` stands for what is not known; lines that begin with `#` are comments. `offset` is
// the entry's address as the file has it (that of the symbol); it counts for the build with this build-id, the name for
// all others. Of one run: how often the function was entered, how long its snapshots took and how many there were, and
// how long it took itself, from entry to return. A line may end before any of these.
//
// Pure, without allocation: the client reads profiles with it, and the tools do.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_PROFILE_LINE_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_PROFILE_LINE_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::signal_safe {

constexpr size_t kMostProfileBytes = 16u << 20;  // a larger file is not read
constexpr size_t kLongestLine = 64u << 10;
constexpr char kProfileSuffix[] = ".recrash-profile";

struct Word {
  const char* begin = nullptr;
  size_t size = 0;

  bool known() const { return size != 0 && !(size == 1 && begin[0] == '-'); }
};

struct ProfileLine {
  Word build_id;  // lower-case hex
  uint64_t offset = 0;
  Word name;
  bool has_offset = false;
  bool has_entries = false;
  bool has_microseconds = false;
  bool has_snapshots = false;
  bool has_inclusive = false;
  uint64_t entries = 0;
  uint64_t microseconds = 0;
  uint64_t snapshots = 0;
  uint64_t inclusive_ns = 0;
};

enum class LineKind : uint8_t { kEmpty, kFunction, kDamaged };

namespace profile_line_internal {

inline bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline Word NextWord(const char*& at, const char* end) {
  while (at < end && IsBlank(*at)) ++at;
  Word word{at, 0};
  while (at < end && !IsBlank(*at)) ++at;
  word.size = static_cast<size_t>(at - word.begin);
  return word;
}

// -1: not a digit of that base.
inline int Digit(char c, unsigned base) {
  int digit = -1;
  if (c >= '0' && c <= '9') digit = c - '0';
  if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
  return digit < static_cast<int>(base) ? digit : -1;
}

inline bool ReadNumber(Word word, unsigned base, uint64_t* value) {
  *value = 0;
  if (word.size == 0) return false;
  for (size_t i = 0; i < word.size; ++i) {
    const int digit = Digit(word.begin[i], base);
    if (digit < 0 || *value > (UINT64_MAX - static_cast<uint64_t>(digit)) / base) return false;
    *value = *value * base + static_cast<uint64_t>(digit);
  }
  return true;
}

inline bool IsBuildId(Word word) {
  if (word.size == 0 || word.size > 128 || word.size % 2 != 0) return false;
  for (size_t i = 0; i < word.size; ++i)
    if (Digit(word.begin[i], 16) < 0) return false;
  return true;
}

inline bool IsName(Word word) {
  for (size_t i = 0; i < word.size; ++i)
    if (static_cast<unsigned char>(word.begin[i]) < 0x21 || word.begin[i] == 0x7f) return false;
  return word.size != 0;
}

// False when the word is neither a number nor `-`.
inline bool ReadCounter(Word word, bool* known, uint64_t* value) {
  *known = word.known();
  return !*known || ReadNumber(word, 10, value);
}

}  // namespace profile_line_internal

// Without its line break.
inline LineKind ParseProfileLine(const char* begin, const char* end, ProfileLine* line) {
  namespace internal = profile_line_internal;
  *line = ProfileLine();
  if (static_cast<size_t>(end - begin) > kLongestLine) return LineKind::kDamaged;
  line->build_id = internal::NextWord(begin, end);
  if (line->build_id.size == 0 || line->build_id.begin[0] == '#') return LineKind::kEmpty;
  const Word offset = internal::NextWord(begin, end);
  line->name = internal::NextWord(begin, end);
  if (line->build_id.known() && !internal::IsBuildId(line->build_id)) return LineKind::kDamaged;
  line->has_offset = offset.known();
  if (line->has_offset) {
    if (offset.size < 3 || offset.begin[0] != '0' || offset.begin[1] != 'x') return LineKind::kDamaged;
    if (!internal::ReadNumber({offset.begin + 2, offset.size - 2}, 16, &line->offset)) return LineKind::kDamaged;
  }
  if (!internal::IsName(line->name)) return LineKind::kDamaged;
  const bool by_offset = line->has_offset && line->build_id.known();
  if (!by_offset && !line->name.known()) return LineKind::kDamaged;  // it says nothing
  if (!internal::ReadCounter(internal::NextWord(begin, end), &line->has_entries, &line->entries) ||
      !internal::ReadCounter(internal::NextWord(begin, end), &line->has_microseconds, &line->microseconds) ||
      !internal::ReadCounter(internal::NextWord(begin, end), &line->has_snapshots, &line->snapshots) ||
      !internal::ReadCounter(internal::NextWord(begin, end), &line->has_inclusive, &line->inclusive_ns) ||
      internal::NextWord(begin, end).size != 0)
    return LineKind::kDamaged;
  return LineKind::kFunction;
}

// The line that begins at `at`, which moves behind its line break.
inline LineKind NextProfileLine(const char*& at, const char* end, ProfileLine* line) {
  const char* begin = at;
  while (at < end && *at != '\n') ++at;
  const char* stop = at;
  if (at < end) ++at;
  return ParseProfileLine(begin, stop, line);
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_PROFILE_LINE_H_
