// Types as far as a test can write their values: numbers, texts, enumerators, and arrays, containers and classes of
// such. Made of the types of a build (agent/report/type_layout.h).
//
//   Shapes shapes(image.types);
//   const Shape& shape = shapes[shapes.Add(parameter.type)];
//
// The plan has the same rows (testgen/replay/plan/plan.h): the replay library writes values by them.
#ifndef RECRASH_TESTGEN_LITERALS_SHAPES_H_
#define RECRASH_TESTGEN_LITERALS_SHAPES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/report/type_layout.h"
#include "testgen/literals/shape_kind.h"

namespace recrash {

struct ShapeMember {
  std::string name = {};  // empty: only by its place
  uint32_t shape = 0;
  uint64_t offset = 0;
  uint32_t bit_offset = 0;
  uint32_t bit_size = 0;  // 0: no bit-field
};

struct Shape {
  ShapeKind kind = ShapeKind::kOpaque;
  bool is_signed = false;
  bool is_character = false;  // char itself
  uint64_t size = 0;
  uint64_t count = 0;       // kArray
  uint64_t offset = 0;      // kOptional: of the byte that says whether there is a value; kView: of the start
  uint32_t element = 0;     // kArray, kVector, kOptional, kAddress
  bool is_wrapper = false;  // kClass: of the C++ library, its members have no names that people know: pair, tuple
  std::string name = {};    // for people
  std::vector<ShapeMember> members = {};            // kClass, in the order of the source
  std::map<int64_t, std::string> enumerators = {};  // kInteger
};

class Shapes {
 public:
  // REQUIRES: `types` live as long as this.
  explicit Shapes(const std::vector<TypeLayout>& types) : types_(types) {}

  // Returns the place of the type's shape. 0: nothing can be written for it.
  uint32_t Add(uint32_t type);

  const Shape& operator[](uint32_t place) const { return shapes_[place]; }
  const std::vector<Shape>& all() const { return shapes_; }

  // Whether a whole object can be written, each part of it, where there was none before.
  bool IsWhole(uint32_t place) const;

 private:
  struct Found {
    uint64_t offset = 0;
    uint32_t type = 0;
  };

  const TypeLayout& At(uint32_t type) const { return types_[type < types_.size() ? type : 0]; }
  Shape Make(uint32_t type);
  Shape MakeClass(const TypeLayout& type);
  bool MakeString(const TypeLayout& type, Shape* shape) const;
  bool MakeStandard(const TypeLayout& type, Shape* shape);
  void AddMembers(const TypeLayout& type, uint64_t start, int depth, Shape* shape);
  void AddParts(const TypeLayout& tuple, uint64_t start, int depth, std::map<uint64_t, ShapeMember>* parts);
  std::optional<Found> Find(const TypeLayout& type, const std::string& member, int depth = 0) const;
  bool IsWhole(uint32_t place, int depth) const;

  const std::vector<TypeLayout>& types_;
  std::vector<Shape> shapes_ = std::vector<Shape>(1);
  std::map<uint32_t, uint32_t> by_type_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_LITERALS_SHAPES_H_
