// Reads little-endian values from bytes that may be damaged: past the end it gives zeros and says so.
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_CURSOR_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace recrash {

class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> bytes, size_t offset = 0) : bytes_(bytes), offset_(offset) {
    if (offset_ > bytes_.size()) Fail();
  }

  bool ok() const { return ok_; }
  bool at_end() const { return offset_ >= bytes_.size(); }
  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }

  template <typename T>
  T Read() {
    T value{};
    if (left() < sizeof(T)) {
      Fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  void Skip(size_t count) {
    if (count > left()) return Fail();
    offset_ += count;
  }

  uint64_t Uleb() {
    uint64_t value = 0;
    for (int shift = 0; ok_; shift += 7) {
      const uint8_t byte = Read<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }

  // Up to the next NUL, which is skipped; empty and failed when there is none.
  std::string_view Text() {
    const auto* start = reinterpret_cast<const char*>(bytes_.data()) + offset_;
    const void* end = left() == 0 ? nullptr : std::memchr(start, 0, left());
    if (end == nullptr) {
      Fail();
      return {};
    }
    const size_t length = static_cast<const char*>(end) - start;
    offset_ += length + 1;
    return {start, length};
  }

 private:
  void Fail() {
    ok_ = false;
    offset_ = bytes_.size();
  }

  std::span<const uint8_t> bytes_;
  size_t offset_;
  bool ok_ = true;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_CURSOR_H_
