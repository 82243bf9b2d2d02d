// Text without stdio, allocation or locale: a line is built in a buffer of the caller's and always ends in a NUL.
//
// Signal-safe throughout.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_TEXT_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_TEXT_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shadowstack/abi.h"

namespace recrash::signal_safe {

class Text {
 public:
  template <size_t N>
  explicit Text(char (&buffer)[N]) : begin_(buffer), end_(buffer + N - 1), at_(buffer) {
    *at_ = 0;
  }

  RECRASH_SIGNAL_SAFE Text& operator<<(const char* text) {
    while (*text != 0 && at_ < end_) *at_++ = *text++;
    *at_ = 0;
    return *this;
  }

  RECRASH_SIGNAL_SAFE Text& Decimal(uint64_t value, unsigned width = 1) { return Number(value, 10, width); }
  RECRASH_SIGNAL_SAFE Text& Hex(uint64_t value) { return Number(value, 16, 1); }

  const char* c_str() const { return begin_; }
  size_t size() const { return static_cast<size_t>(at_ - begin_); }
  bool full() const { return at_ == end_; }

 private:
  RECRASH_SIGNAL_SAFE Text& Number(uint64_t value, unsigned base, unsigned width) {
    char digits[24];
    unsigned count = 0;
    do {
      digits[count++] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    while (count < width && count < sizeof digits) digits[count++] = '0';
    while (count != 0 && at_ < end_) *at_++ = digits[--count];
    *at_ = 0;
    return *this;
  }

  char* begin_;
  char* end_;
  char* at_;
};

// Reads lower-case digits of the base at `text`, up to `end` if there is one, and moves `text` past them; before a
// digit with which the number would be too large it stops. Returns 0 if there are none. Inlined it would take 700 bytes
// of the client.
RECRASH_SIGNAL_SAFE __attribute__((noinline)) inline uint64_t ReadNumber(const char*& text, unsigned base,
                                                                         const char* end = nullptr) {
  uint64_t value = 0;
  for (; text != end; ++text) {
    const unsigned digit = *text >= 'a' && *text <= 'f'   ? static_cast<unsigned>(*text - 'a') + 10
                           : *text >= '0' && *text <= '9' ? static_cast<unsigned>(*text - '0')
                                                          : base;
    if (digit >= base || value > (UINT64_MAX - digit) / base) return value;
    value = value * base + digit;
  }
  return value;
}

// What follows the last slash, or all of it.
RECRASH_SIGNAL_SAFE inline const char* BaseName(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// Copies with truncation; `out` always ends in a NUL.
template <size_t N>
RECRASH_SIGNAL_SAFE void CopyText(char (&out)[N], const char* text) {
  size_t i = 0;
  if (text != nullptr) {
    for (; i + 1 < N && text[i] != 0; ++i) out[i] = text[i];
  }
  out[i] = 0;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_TEXT_H_
