// Values that a test gives to parts of an argument: members, texts, elements of containers.
//
//   const PlanShapes shapes{world.bytes, world.plan};
//   plan::ShapeMember place = shapes.Whole(parameter.shape);
//   FollowPath(shapes, "options.level", &place, text, sizeof text);      // where the part lies in the object
//   if (!Fits(shapes, place, value, text, sizeof text)) Refuse(text);    // "300 does not fit 8 bits of type char"
//   PutValue(shapes, object, place, value, allocate);
//
// Types are shapes of the plan (testgen/literals). C++17 without its runtime.
#ifndef RECRASH_TESTGEN_REPLAY_GIVEN_VALUES_H_
#define RECRASH_TESTGEN_REPLAY_GIVEN_VALUES_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/replay.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

// The plan's shapes, where the plan is mapped.
struct PlanShapes {
  const char* bytes;
  const plan::Header* plan;

  template <typename T>
  struct Range {
    const T* first;
    size_t count;
    const T* begin() const { return first; }
    const T* end() const { return first + count; }
    const T& operator[](size_t i) const { return first[i]; }
  };
  template <typename T>
  Range<T> Rows(const plan::Array& array) const {
    return {reinterpret_cast<const T*>(bytes + array.offset), array.count};
  }
  const char* Text(plan::Text text) const { return bytes + plan->text.offset + text; }
  const plan::Shape& At(uint32_t place) const {
    const Range<plan::Shape> all = Rows<plan::Shape>(plan->shapes);
    return all[place < all.count ? place : 0];
  }
};

// An object of this shape, as a part of itself.
inline plan::ShapeMember PlaceOf(uint32_t shape) { return {0, shape, 0, 0, 0}; }

// A part's path as words: "self", "options", "level" of "self->options.level" and of "*self".
class Path {
 public:
  explicit Path(const char* text);
  // The next word; false at the end.
  bool Next();
  const char* word() const { return word_; }

 private:
  const char* at_;
  char word_[256] = "";
};

// From `place` on, along the words that are left of the path. False: there is no such member; `text` says which.
bool FollowPath(const PlanShapes& shapes, Path* path, plan::ShapeMember* place, char* text, size_t size);

// Why a value does not fit its type, in `text`. True: it fits.
bool Fits(const PlanShapes& shapes, const plan::ShapeMember& place, const GivenValue& value, char* text, size_t size);

using Allocator = void* (*)(size_t size);

// Returns null, or why the value cannot be written to the place in the object at `object`. REQUIRES: Fits.
const char* PutValue(const PlanShapes& shapes, uint64_t object, const plan::ShapeMember& place, const GivenValue& value,
                     Allocator allocate);

// What is written once memory is restored.
constexpr uint32_t kMostGiven = 256;

struct GivenPart {
  uint64_t object;  // live
  plan::ShapeMember place;
  const GivenValue* value;
};

struct GivenValues {
  GivenPart parts[kMostGiven];
  uint32_t count;
  Allocator allocate;  // the program's operator new, or its malloc
};

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GIVEN_VALUES_H_
