// Text of a program or a report, made safe for a terminal. Names and messages in it may hold line ends, escape
// sequences, and characters that turn the reading direction.
//
//   char shown[256];
//   CopyPrintable(shown, sizeof shown, thrown.what);   // "\x1b]0;title\x07" in place of what a terminal would obey
//
// The agent and the guest use this; tools use agent/base/printable_text.h, which is made of it.
//
// Signal-safe throughout.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_PRINTABLE_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_PRINTABLE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shadowstack/abi.h"

namespace recrash {

struct CodePoint {
  uint32_t value = 0;  // the byte itself when it is not valid
  size_t length = 1;   // in bytes
  bool valid = false;
};

// The code point at the beginning of the text, which has a byte at least. Strict UTF-8: no overlong form, no surrogate,
// at most U+10FFFF.
RECRASH_SIGNAL_SAFE __attribute__((noinline)) inline CodePoint DecodeUtf8(const char* text, size_t size) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || length > size) return {lead, 1, false};
  uint32_t value = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[length] || surrogate || value > 0x10ffff) return {lead, 1, false};
  return {value, length, true};
}

// Does the character move the cursor, turn the direction of what follows (Trojan source), or stay invisible?
RECRASH_SIGNAL_SAFE __attribute__((noinline)) inline bool IsHarmful(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff0 && c <= 0xfffb) || (c & 0xfffe) == 0xfffe || (c >= 0xe0000 && c <= 0xe0fff);
}

// One character as it is shown: itself, or \n, \x1b, \u202e for one that is harmful or invalid.
struct ShownCharacter {
  size_t taken = 0;  // bytes of the text
  char text[12];     // ends in a NUL
  size_t length = 0;
};

RECRASH_SIGNAL_SAFE inline ShownCharacter Show(const char* text, size_t size) {
  const CodePoint c = DecodeUtf8(text, size);
  ShownCharacter shown;
  shown.taken = c.length;
  const auto add = [&](char character) { shown.text[shown.length++] = character; };
  if (c.valid && !IsHarmful(c.value)) {
    for (size_t i = 0; i < c.length; ++i) add(text[i]);
  } else if (c.valid && (c.value == 0 || c.value == '\n' || c.value == '\t' || c.value == '\r')) {
    add('\\');
    add(c.value == 0 ? '0' : c.value == '\n' ? 'n' : c.value == '\t' ? 't' : 'r');
  } else {
    const bool byte = !c.valid || c.value < 0x80;
    unsigned digits = byte ? 2 : 4;
    while (c.value >> (4 * digits) != 0) ++digits;
    add('\\');
    add(byte ? 'x' : 'u');
    while (digits != 0) add("0123456789abcdef"[c.value >> (4 * --digits) & 15]);
  }
  shown.text[shown.length] = 0;
  return shown;
}

// Copies the text as it is shown; of what does not fit whole characters are left out. `out` always ends in a NUL.
RECRASH_SIGNAL_SAFE inline void CopyPrintable(char* out, size_t room, const char* text, size_t size) {
  size_t used = 0;
  for (const char* const end = text + size; text != end;) {
    const ShownCharacter shown = Show(text, static_cast<size_t>(end - text));
    if (used + shown.length >= room) break;
    memcpy(out + used, shown.text, shown.length);
    used += shown.length;
    text += shown.taken;
  }
  out[used] = 0;
}

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_PRINTABLE_H_
