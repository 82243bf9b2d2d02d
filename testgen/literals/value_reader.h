// Reads recorded memory as values that a test can write.
//
//   ValueReader reader(shapes, read, is_live);
//   const std::optional<Value> value = reader.Read(shape, bytes);  // {"news", "mail"}
#ifndef RECRASH_TESTGEN_LITERALS_VALUE_READER_H_
#define RECRASH_TESTGEN_LITERALS_VALUE_READER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "recrash/value.h"
#include "testgen/carry/recorded_heap.h"
#include "testgen/literals/shapes.h"

namespace recrash {

class ValueReader {
 public:
  // `is_live`: whether an object can be there. REQUIRES: all live as long as the reader.
  ValueReader(const Shapes& shapes, const ReadMemory& read, const std::function<bool(uint64_t)>& is_live)
      : shapes_(shapes), read_(read), is_live_(is_live) {}

  // Returns the object as a value; nothing if a part of it is none, is damaged or is too long.
  std::optional<Value> Read(uint32_t shape, std::span<const uint8_t> bytes);
  // The same of a member, which may be a bit-field. `bytes` are those of the whole object.
  std::optional<Value> Member(const ShapeMember& member, std::span<const uint8_t> bytes);

  // Numbers and texts that were read.
  size_t parts() const { return parts_; }
  // Blocks that the values lead to, start and end: storage of containers.
  const std::vector<std::pair<uint64_t, uint64_t>>& blocks() const { return blocks_; }

 private:
  std::optional<Value> Integer(const Shape& shape, uint64_t bits, uint64_t width) const;
  std::optional<Value> Real(std::span<const uint8_t> bytes) const;
  std::optional<Value> Characters(uint64_t address);
  std::optional<Value> Text(uint64_t start, uint64_t size, bool owns);
  std::optional<Value> List(const Shape& shape, uint64_t count, std::span<const uint8_t> bytes);
  std::optional<Value> Vector(const Shape& shape, std::span<const uint8_t> bytes);
  std::optional<Value> LibcxxString(std::span<const uint8_t> bytes);

  const Shapes& shapes_;
  const ReadMemory& read_;
  const std::function<bool(uint64_t)>& is_live_;
  size_t parts_ = 0;
  int depth_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> blocks_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_LITERALS_VALUE_READER_H_
