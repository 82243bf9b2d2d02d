// How values of a type are written. The plan has these numbers. C++17.
#ifndef RECRASH_TESTGEN_LITERALS_SHAPE_KIND_H_
#define RECRASH_TESTGEN_LITERALS_SHAPE_KIND_H_

#include <cstdint>

namespace recrash {

enum class ShapeKind : uint32_t {
  kOpaque = 0,   // no value can be written for it
  kInteger = 1,  // numbers, characters, enumerators
  kBool = 2,
  kReal = 3,
  kCharacters = 4,  // const char*
  kClass = 5,
  kArray = 6,
  kVector = 7,        // three words: start, end, end of the room
  kString = 8,        // of libstdc++: start, length, then the room or the text itself
  kLibcxxString = 9,  // of libc++: room, length, start; or a byte with twice the length, then the text itself
  kView = 10,         // std::string_view
  kOptional = 11,     // the value, then a byte that says whether there is one
  kAddress = 12,      // a pointer or reference to another shape
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_LITERALS_SHAPE_KIND_H_
