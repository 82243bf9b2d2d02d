#include "testgen/emit/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testgen/emit/spelling.h"
#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

using testing_frames::BytesOf;
using testing_frames::Class;
using testing_frames::Enum;
using testing_frames::PointerTo;
using testing_frames::Scalar;

template <typename T>
std::optional<std::string> Literal(TypeKind kind, std::string name, T value) {
  return ScalarLiteral(Scalar(kind, std::move(name), sizeof value), BytesOf(value));
}

TEST(ScalarLiteral, OfIntegers) {
  EXPECT_EQ(Literal(TypeKind::kSigned, "int", -7), "-7");
  EXPECT_EQ(Literal(TypeKind::kSigned, "long", std::numeric_limits<int64_t>::min()), "-9223372036854775807 - 1");
  EXPECT_EQ(Literal(TypeKind::kUnsigned, "unsigned long", ~uint64_t{0}), "18446744073709551615u");
  EXPECT_EQ(Literal(TypeKind::kUnsigned, "unsigned char", uint8_t{200}), "200");
  EXPECT_EQ(Literal(TypeKind::kSigned, "__int128", static_cast<__int128>(-5)), "-5");
  EXPECT_EQ(Literal(TypeKind::kSigned, "__int128", static_cast<__int128>(1) << 100), std::nullopt);
}

TEST(ScalarLiteral, OfCharactersAndBools) {
  EXPECT_EQ(Literal(TypeKind::kCharacter, "char", 'x'), "'x'");
  EXPECT_EQ(Literal(TypeKind::kCharacter, "char", '\''), "'\\''");
  EXPECT_EQ(Literal(TypeKind::kCharacter, "char", '\xc8'), "'\\xc8'");
  EXPECT_EQ(Literal(TypeKind::kBool, "bool", uint8_t{1}), "true");
  // Neither true nor false: no literal makes it, so it is loaded.
  EXPECT_EQ(Literal(TypeKind::kBool, "bool", uint8_t{77}), std::nullopt);
}

TEST(ScalarLiteral, OfFloatsIsExactOrNone) {
  EXPECT_EQ(Literal(TypeKind::kFloat, "float", 0.1f), "0.1f");
  EXPECT_EQ(Literal(TypeKind::kFloat, "double", 3.0), "3.0");
  EXPECT_EQ(Literal(TypeKind::kFloat, "double", 1e300), "1e+300");
  EXPECT_EQ(Literal(TypeKind::kFloat, "double", -0.0), "-0.0");
  EXPECT_EQ(Literal(TypeKind::kFloat, "double", std::nan("")), std::nullopt);
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308}) {
    const auto text = Literal(TypeKind::kFloat, "double", value);
    ASSERT_TRUE(text);
    EXPECT_EQ(std::strtod(text->c_str(), nullptr), value);
  }
}

TEST(EnumLiteral, IsDefinedWhereItIsUsed) {
  const Type encoding = Enum("text::Encoding", {{"kAscii", 0}, {"kUtf8", 2}});
  const auto literal = MakeEnumLiteral(encoding, BytesOf(uint32_t{2}));
  ASSERT_TRUE(literal);
  EXPECT_EQ(literal->definition, "enum class Encoding : std::uint32_t { kAscii = 0, kUtf8 = 2 };");
  EXPECT_EQ(literal->value, "Encoding::kUtf8");
}

// The unknown value may be the bug.
TEST(EnumLiteral, OfAValueWithoutNameIsACast) {
  const auto literal = MakeEnumLiteral(Enum("Encoding", {{"kAscii", 0}}), BytesOf(uint32_t{7}));
  ASSERT_TRUE(literal);
  EXPECT_EQ(literal->value, "static_cast<Encoding>(7)");
  EXPECT_FALSE(literal->named);
}

TEST(EnumLiteral, FitsItsSize) {
  const auto literal = MakeEnumLiteral(Enum("E", {{"kAll", -1}, {"kHuge", 70000}}, 1), BytesOf(uint8_t{255}));
  ASSERT_TRUE(literal);
  EXPECT_EQ(literal->definition, "enum class E : std::uint8_t { kAll = 255, kHuge = 112 };");
  EXPECT_EQ(literal->value, "E::kAll");
}

TEST(EnumLiteral, IsNotMadeOfNamesThatCannotBeWritten) {
  EXPECT_FALSE(MakeEnumLiteral(Enum("E", {{"a b", 0}}), BytesOf(uint32_t{0})));
  EXPECT_FALSE(MakeEnumLiteral(Enum("E", {{"class", 0}}), BytesOf(uint32_t{0})));
  EXPECT_FALSE(MakeEnumLiteral(Enum("E", {{"kA", 0}, {"kA", 1}}), BytesOf(uint32_t{0})));
  EXPECT_FALSE(MakeEnumLiteral(Enum("", {{"kA", 0}}), BytesOf(uint32_t{0})));
}

TEST(SpellScalar, TakesCompilersNamesAndElseTheSize) {
  EXPECT_EQ(SpellScalar(Scalar(TypeKind::kSigned, "const int", 4)), "int");
  EXPECT_EQ(SpellScalar(Scalar(TypeKind::kUnsigned, "long unsigned int", 8)), "unsigned long");
  EXPECT_EQ(SpellScalar(Scalar(TypeKind::kUnsigned, "size_t", 8)), "std::size_t");
  EXPECT_EQ(SpellScalar(Scalar(TypeKind::kSigned, "Key", 4)), "std::int32_t");
  EXPECT_EQ(SpellScalar(Scalar(TypeKind::kSigned, "int", 2)), "std::int16_t");  // a typedef that hides the name
  EXPECT_EQ(SpellScalar(Scalar(TypeKind::kSigned, "_BitInt(24)", 3)), std::nullopt);
}

class SpellPointer : public ::testing::Test {
 protected:
  std::optional<std::string> Spell(const Type& type) {
    speller_.Note(type);
    return speller_.SpellPointer(type);
  }
  TypeSpeller speller_{false};
};

TEST_F(SpellPointer, DeclaresPlainClasses) {
  EXPECT_EQ(Spell(PointerTo(Class("Greeter"))), "Greeter*");
  EXPECT_EQ(Spell(PointerTo(Class("a::b::Tree", true), TypeKind::kReference)), "const a::b::Tree*");
  EXPECT_EQ(Spell(PointerTo(Class("(anonymous namespace)::Url"))), "Url*");
  EXPECT_EQ(Spell(PointerTo(Class("node"))), "struct node*");
  EXPECT_EQ(speller_.Declarations(),
            "struct Greeter;\n"
            "namespace { struct Url; }\n"
            "namespace a { namespace b { struct Tree; } }\n"
            "struct node;\n");
}

TEST_F(SpellPointer, LeavesWhatCannotBeDeclared) {
  EXPECT_EQ(Spell(PointerTo(Class("std::vector<int>"))), std::nullopt);
  EXPECT_EQ(Spell(PointerTo(Class("std::exception"))), std::nullopt);
  EXPECT_EQ(Spell(PointerTo(Class("FILE"))), std::nullopt);          // a typedef of the C library
  EXPECT_EQ(Spell(PointerTo(Class("index::Entry"))), std::nullopt);  // index() is a function of the C library
  EXPECT_EQ(Spell(PointerTo(Class("main::{lambda()#1}"))), std::nullopt);
  EXPECT_EQ(Spell(PointerTo(Class("f(int)::Local"))), std::nullopt);
  EXPECT_EQ(speller_.Declarations(), "");
}

// `Tree::Node` is a class in a class, which cannot be declared from outside.
TEST_F(SpellPointer, KnowsThatAClassIsNoNamespace) {
  speller_.Note(PointerTo(Class("Tree")));
  EXPECT_EQ(Spell(PointerTo(Class("Tree::Node"))), std::nullopt);
  EXPECT_EQ(speller_.Declarations(), "struct Tree;\n");
}

// Two files may each have their own; the text could not tell them apart.
TEST_F(SpellPointer, TakesOneOfTwoClassesWithOneName) {
  EXPECT_EQ(Spell(PointerTo(Class("Url"))), "Url*");
  EXPECT_EQ(Spell(PointerTo(Class("(anonymous namespace)::Url"))), std::nullopt);
}

TEST_F(SpellPointer, OfBuiltInTypes) {
  EXPECT_EQ(Spell(PointerTo(testing_frames::ConstChar())), "const char*");
  EXPECT_EQ(Spell(PointerTo(Scalar(TypeKind::kUnknown, "void", 0))), "void*");
  EXPECT_EQ(Spell(PointerTo(PointerTo(Scalar(TypeKind::kCharacter, "char", 1)))), "char**");
  EXPECT_EQ(Spell(PointerTo(Scalar(TypeKind::kFunction, "void (int)", 0))), std::nullopt);
}

}  // namespace
}  // namespace recrash
