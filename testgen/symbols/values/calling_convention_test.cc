// The places that the rules give, compared with where the compiler has put arguments of known bytes.
#include "testgen/symbols/dwarf/calling_convention.h"

#include <gtest/gtest.h>

#include "testgen/symbols/testing_crashed_process.h"
#include "testgen/symbols/values/dwarf_call.h"

namespace recrash {
namespace {

// Types that the ABI treats in different ways. Each parameter's bytes are filled with a pattern of its own.
constexpr char kTypes[] = R"(
#include <cstring>
struct Ints { long a, b; };
struct Mixed { int a; float b; double c; };
struct Floats { float a, b, c; };
struct DoubleThenInt { double a; int b; };
struct Three { char bytes[3]; };
struct Big { long x[3]; };
struct Twelve { int a, b, c; };
struct __attribute__((packed)) Packed { char a; long b; };
struct Empty {};
struct Derived : Ints {};
struct WithEmpty : Empty { int a; };
struct Bits { unsigned a : 3; unsigned long b : 40; };
union Either { float f; int i; };
union Wide { double d; float f; };
struct alignas(16) Aligned { long a; };
struct AlignedBig { alignas(16) long a[4]; };
struct NonTrivial { long a, b; NonTrivial() {} NonTrivial(const NonTrivial& o) : a(o.a), b(o.b) {} ~NonTrivial() {} };
struct Copied { long a; Copied() = default; Copied(const Copied&) = default; };
struct Virtual { virtual void f() {} long a; };
struct LongDouble { long double a; };
struct Nested { Floats f; int i; };
struct Array { int a[4]; };
struct Method { int f(int); };
enum class Small : unsigned char { kA, kB };
typedef int Vector __attribute__((vector_size(16)));
typedef int (Method::*MemberFunction)(int);
typedef int Method::*MemberData;
)";

struct Signature {
  const char* name;
  const char* parameters;  // types by commas
  const char* result = "void";
};

void PrintTo(const Signature& signature, std::ostream* out) { *out << signature.name; }

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text + ",") {
    if (c != ',') {
      part += c;
      continue;
    }
    parts.push_back(part.substr(part.find_first_not_of(' ')));
    part.clear();
  }
  return parts;
}

class Signatures : public testing::TestWithParam<Signature> {};

// Bytes of padding at a type's end may hold anything in a register.
size_t MeaningfulSize(const std::string& type, size_t size) {
  if (type == "DoubleThenInt") return 12;
  return type == "Aligned" ? 8 : size;
}

std::vector<uint8_t> BytesAt(const Report& report, const PlacedPiece& piece, size_t size) {
  const Registers& registers = report.threads[0].registers;
  const auto location = static_cast<size_t>(piece.location);
  std::vector<uint8_t> bytes(size);
  if (piece.location == abi::Location::kStack) {
    // The return address lies at rsp.
    EXPECT_TRUE(report.Read({registers.sp() + 8 + piece.stack_offset}, bytes));
  } else if (location >= static_cast<size_t>(abi::Location::kXmm0)) {
    const size_t offset = 160 + (location - static_cast<size_t>(abi::Location::kXmm0)) * 16;
    std::copy_n(registers.fxsave.begin() + static_cast<ptrdiff_t>(offset), size, bytes.begin());
  } else {
    constexpr size_t kNumbers[] = {5, 4, 1, 2, 8, 9};
    std::copy_n(reinterpret_cast<const uint8_t*>(&registers.dwarf[kNumbers[location]]), size, bytes.begin());
  }
  return bytes;
}

// The program for a signature: a callee without prologue that stops at its first instruction, called with filled
// arguments, and another of the same parameters that has debug information of them.
std::string Program(const Signature& signature) {
  const std::vector<std::string> types = Split(signature.parameters);
  std::string list, values, setup;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string name = "p" + std::to_string(i);
    list += (i == 0 ? "" : ", ") + types[i] + " " + name;
    values += (i == 0 ? "" : ", ") + name;
    setup += "  static " + types[i] + " " + name + "; Fill(&" + name + ", sizeof(" + name + "), " +
             std::to_string(0x10 * (i + 1)) + ");\n";
  }
  const std::string result = signature.result;
  return std::string(kTypes) + "asm(\".globl Callee; Callee: ud2\");\n" + result + " Callee(" + list +
         ") asm(\"Callee\");\n" + result + " Described(" + list + ") { __builtin_trap(); }\n" +
         "void Fill(void* to, int size, int value) {\n"
         "  for (int i = 0; i < size; ++i) static_cast<unsigned char*>(to)[i] = value + i % 15;\n}\n"
         "int main(int argc, char**) {\n" +
         setup + "  if (argc > 1) Described(" + values + ");\n  Callee(" + values + ");\n  return 0;\n}\n";
}

TEST_P(Signatures, ArePlacedAsTheCompilerDoes) {
  const std::vector<std::string> types = Split(GetParam().parameters);
  const Fixture fixture(Program(GetParam()), "-O0 -g -w");
  const Report report = fixture.Crash();
  auto modules = ModuleSet::Open(report, {});
  ASSERT_TRUE(modules);
  LoadedModule& program = *(*modules)->program();
  uint64_t described = 0;
  for (const ElfSymbol& symbol : program.names->symbols())
    if (symbol.name.starts_with("_Z9Described")) described = symbol.address + program.bias();
  CodeReader reader(**modules);
  const CodeInfo& code = reader.At({described});
  ASSERT_FALSE(code.live.empty());
  const auto call = PlacesOf(*code.debug, code.live.back());
  ASSERT_TRUE(call);
  ASSERT_EQ(call->parameters.size(), types.size());

  for (size_t i = 0; i < types.size(); ++i) {
    const PlacedParameter& placed = call->parameters[i];
    const size_t whole = code.live.back().parameters[i].described.type.size;
    for (const PlacedPiece& piece : placed.pieces) {
      std::vector<uint8_t> bytes = BytesAt(report, piece, placed.indirect ? 8 : piece.size);
      if (placed.indirect) {
        uint64_t address = 0;
        std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(&address));
        bytes.resize(whole);
        ASSERT_TRUE(report.Read({address}, bytes)) << types[i];
      }
      const size_t end = MeaningfulSize(types[i], whole);
      for (size_t k = 0; k < bytes.size() && piece.offset + k < end; ++k)
        EXPECT_EQ(bytes[k], 0x10 * (i + 1) + (piece.offset + k) % 15)
            << types[i] << ", parameter " << i + 1 << ", byte " << piece.offset + k;
    }
  }
}

// What has no place takes none: only the empty class may.
TEST_P(Signatures, PlaceEveryByte) {
  const Fixture fixture(Program(GetParam()), "-O0 -g -w");
  const Report report = fixture.Crash({"described"});
  const Backtrace backtrace = MustRead(report);
  const Frame& frame = FrameOf(backtrace, "Described(");
  for (const Parameter& parameter : frame.parameters) {
    size_t placed = 0;
    for (const ReplayWord& word : frame.words)
      if (word.parameter == parameter.number) placed += word.size;
    if (parameter.type.name == "Empty") continue;
    EXPECT_GE(placed, parameter.indirect ? 8 : MeaningfulSize(parameter.type.name, parameter.type.size))
        << parameter.type.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Signatures,
    testing::Values(
        Signature{"Integers", "char, short, int, long, unsigned, void*, long, int, char"},
        Signature{"Doubles", "double, float, double, float, double, float, double, float, double, float"},
        Signature{"TwoRegisters", "Ints, int, Ints, long, Ints, int"}, Signature{"Mixed", "Mixed, Mixed, int"},
        Signature{"Floats", "Floats, Floats, Wide, Either"}, Signature{"DoubleThenInt", "DoubleThenInt, int, double"},
        Signature{"InMemory", "int, Big, int, Packed, double"}, Signature{"Empty", "Empty, int, WithEmpty, Derived"},
        Signature{"Small", "int, Three, Twelve, Bits, Copied"}, Signature{"NonTrivial", "NonTrivial, int, Copied"},
        Signature{"ResultInMemory", "int, Ints, double", "Big"},
        Signature{"NonTrivialResult", "int, long", "NonTrivial"}, Signature{"ResultInRegisters", "int, Ints", "Ints"},
        Signature{"LongDoubleResult", "int, long", "long double"}, Signature{"Int128", "int, __int128, long"},
        Signature{"Aligned", "int, Aligned, int, AlignedBig, int, AlignedBig"},
        Signature{"Vectors", "Vector, double, Vector"}, Signature{"MemberPointers", "MemberFunction, MemberData, int"},
        Signature{"Nested", "Nested, Array, Small, bool*"},
        Signature{"TooManyForRegisters", "long, long, long, long, long, Ints, long, NonTrivial"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace recrash
