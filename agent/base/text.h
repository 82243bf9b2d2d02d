// The small texts that every room needs.
//
//   Hex(bytes)                     "3f2a00ff"
//   BaseName("/usr/lib/libc.so")   "libc.so"
#ifndef RECRASH_AGENT_BASE_TEXT_H_
#define RECRASH_AGENT_BASE_TEXT_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recrash {

// Two lower-case digits a byte.
inline std::string Hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

// Returns what follows the last slash, or all of it.
inline std::string BaseName(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// Can the text stand as one word in a line? It has no blanks and no control characters.
inline bool IsWord(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7f; });
}

// Returns the arguments in the form that exec wants. They point into `words`.
inline std::vector<char*> ArgumentPointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_TEXT_H_
