// What is emitted compiles without a warning, whatever names and values the report holds, with both compilers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

#include "testgen/emit/emit.h"
#include "testgen/emit/names.h"
#include "testgen/emit/testing_frames.h"
#include "testgen/emit/text.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using testing_frames::BytesOf;
using testing_frames::Class;
using testing_frames::Enum;
using testing_frames::HostileTexts;
using testing_frames::MakeFrame;
using testing_frames::MakeParameter;
using testing_frames::PointerTo;
using testing_frames::Scalar;

class Compiler : public ::testing::TestWithParam<const char*> {
 protected:
  Compiler() {
    std::string name = (fs::temp_directory_path() / "recrash-emit.XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Compiler() override { fs::remove_all(folder_); }

  // The messages; empty when it is content.
  std::string Complaints(const std::string& text, const std::string& more = "-fsyntax-only") {
    std::ofstream(folder_ / "crash_test.cc") << text;
    const std::string command =
        fmt::format("cd {} && {} -std=c++17 -Wall -Wextra -Werror -Wno-psabi -I{} {} crash_test.cc > log 2>&1",
                    folder_.string(), GetParam(), RECRASH_INCLUDE_DIR, more);
    const int status = std::system(command.c_str());
    std::ifstream log(folder_ / "log");
    std::string messages(std::istreambuf_iterator<char>(log), {});
    return status == 0 ? "" : messages + fmt::format("\nstatus {}", status);
  }

  bool Run(const std::string& program) { return std::system((folder_ / program).c_str()) == 0; }

  fs::path folder_;
};

std::string EmitAll(const Backtrace& backtrace, TestReport report = testing_frames::GreeterReport()) {
  EmitOptions options;
  for (const Frame& frame : backtrace.frames)
    options.tests.push_back({frame.index, {.depth = 1, .rewind = ~uint64_t{0}}});
  options.report_name = report.process.program;
  return EmitTests(report, backtrace, options);
}

TEST_P(Compiler, TakesTheGreeter) { EXPECT_EQ(Complaints(EmitAll(testing_frames::GreeterBacktrace())), ""); }

// Each hostile text in every place of a report that has room for one.
TEST_P(Compiler, TakesHostileTexts) {
  Backtrace backtrace;
  TestReport report = testing_frames::GreeterReport();
  uint32_t index = 0;
  for (const std::string& hostile : HostileTexts()) {
    std::vector<Parameter> parameters;
    parameters.push_back(MakeParameter(hostile, PointerTo(Class(hostile)), BytesOf(uint64_t{16}), hostile));
    parameters.push_back(MakeParameter(hostile, PointerTo(Class(hostile)), BytesOf(uint64_t{0}), hostile));
    parameters.push_back(MakeParameter(hostile, Scalar(TypeKind::kSigned, hostile, 4), BytesOf(3), hostile));
    parameters.push_back(MakeParameter(hostile, Class(hostile), std::vector<uint8_t>(32), hostile));
    parameters.push_back(
        MakeParameter(hostile, Enum(hostile, {{hostile, 0}, {"kOne", 1}}), BytesOf(uint32_t{0}), hostile));
    parameters.push_back(MakeParameter(hostile, Enum("Kind", {{hostile, 0}}), BytesOf(uint32_t{0}), hostile));
    parameters.push_back(MakeParameter(hostile, Scalar(TypeKind::kFloat, "double", 8), BytesOf(~uint64_t{0}), hostile));
    Frame frame = MakeFrame(index++, hostile, parameters);
    frame.streams = {{.parameter = 1}, {.parameter = 2, .kind = StreamKind::kFile}, {.parameter = 200}};
    frame.file = frame.declared_file = frame.module = "/src/" + hostile;
    frame.linkage_name = hostile;
    frame.why_not = hostile;
    backtrace.frames.push_back(frame);
  }
  // Their heads one behind another: a comment that ends too early is an error in any of them.
  std::string text;
  for (const std::string& hostile : HostileTexts()) {
    report.process.program = report.process.version = report.failure.abort_message = hostile;
    text += EmitTests(report, backtrace, {.report_name = hostile});
  }
  EXPECT_EQ(Complaints(text + EmitAll(backtrace, report)), "");
}

TEST_P(Compiler, TakesEveryKindOfValue) {
  const auto scalar = [](const char* name, TypeKind kind, auto value) {
    return MakeParameter("v", Scalar(kind, name, sizeof value), BytesOf(value), "value");
  };
  std::vector<Parameter> parameters = {
      scalar("int", TypeKind::kSigned, std::numeric_limits<int>::min()),
      scalar("long", TypeKind::kSigned, std::numeric_limits<long>::min()),
      scalar("long long unsigned int", TypeKind::kUnsigned, ~0ull),
      scalar("short", TypeKind::kSigned, short{-1}),
      scalar("unsigned char", TypeKind::kUnsigned, uint8_t{255}),
      scalar("char", TypeKind::kCharacter, '\xff'),
      scalar("char", TypeKind::kCharacter, '?'),
      scalar("signed char", TypeKind::kCharacter, '\x80'),
      scalar("wchar_t", TypeKind::kCharacter, L'x'),
      scalar("char16_t", TypeKind::kCharacter, u'\xffff'),
      scalar("char8_t", TypeKind::kCharacter, uint8_t{200}),
      scalar("bool", TypeKind::kBool, true),
      scalar("bool", TypeKind::kBool, uint8_t{3}),
      scalar("float", TypeKind::kFloat, std::numeric_limits<float>::denorm_min()),
      scalar("double", TypeKind::kFloat, std::numeric_limits<double>::max()),
      scalar("long double", TypeKind::kFloat, 1.5L),
      scalar("__int128", TypeKind::kSigned, static_cast<__int128>(-1)),
      scalar("unsigned __int128", TypeKind::kUnsigned, ~static_cast<unsigned __int128>(0)),
      scalar("size_t", TypeKind::kUnsigned, size_t{7}),
      MakeParameter("e", Enum("Signed", {{"kLow", std::numeric_limits<int64_t>::min()}}, 8, true),
                    BytesOf(std::numeric_limits<int64_t>::min()), "kLow"),
      MakeParameter("e", Enum("Other", {}), BytesOf(5), "5"),
      MakeParameter("p", PointerTo(Scalar(TypeKind::kUnknown, "void", 0)), BytesOf(uint64_t{5}), "0x5"),
      MakeParameter("r", PointerTo(Class("a::B"), TypeKind::kRvalueReference), BytesOf(uint64_t{5}), "B {}"),
      MakeParameter("f", PointerTo(Scalar(TypeKind::kFunction, "void (int)", 0)), BytesOf(uint64_t{0}), "nullptr"),
      MakeParameter("m", Scalar(TypeKind::kMemberPointer, "int A::*", 8), BytesOf(uint64_t{0}), "member"),
      MakeParameter("c", PointerTo(PointerTo(testing_frames::ConstChar())), BytesOf(uint64_t{0}), "nullptr")};
  Backtrace backtrace;
  backtrace.frames.push_back(MakeFrame(0, "Everything(...)", parameters));
  EXPECT_EQ(Complaints(EmitAll(backtrace)), "");
}

// Classes that share a name with something of the C library, GoogleTest, recrash, or one another.
TEST_P(Compiler, TakesClassesOfAnyName) {
  std::vector<Parameter> parameters;
  for (const char* name : {"FILE",
                           "DIR",
                           "stat",
                           "timeval",
                           "index::Entry",
                           "time::Zone",
                           "testing::Test",
                           "recrash::Frame",
                           "std::string",
                           "Test",
                           "Frame",
                           "Tree",
                           "Tree::Node",
                           "a::Tree",
                           "a::Tree::Node",
                           "(anonymous namespace)::Tree",
                           "a::(anonymous namespace)::X",
                           "size_t",
                           "uint",
                           "div_t",
                           "main",
                           "errno",
                           "EOF",
                           "node",
                           "new::Thing",
                           "__reserved",
                           "Foo<int>",
                           "va_list",
                           "internal::X",
                           "testing",
                           "max_align_t",
                           "pthread_t",
                           "locale_t",
                           "u_char",
                           "abi::X",
                           "__cxxabiv1::X"})
    parameters.push_back(MakeParameter("p", PointerTo(Class(name)), BytesOf(uint64_t{16}), name));
  Backtrace backtrace;
  backtrace.frames.push_back(MakeFrame(0, "f(...)", parameters));
  EXPECT_EQ(Complaints(EmitAll(backtrace)), "");
}

// A string literal gives back its bytes, also to a compiler that knows trigraphs.
TEST_P(Compiler, ReadsStringsAsTheyWere) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  std::vector<std::string> strings = HostileTexts();
  strings.push_back(bytes);
  std::string text = "#include <cstring>\nint main() {\n  int wrong = 0;\n";
  for (const std::string& string : strings) {
    std::string numbers;
    for (const char c : string) numbers += fmt::format("{},", static_cast<int>(static_cast<signed char>(c)));
    text += fmt::format("  {{ static const char text[] = {};\n    static const signed char bytes[] = {{{}0}};\n",
                        CppString(string), numbers);
    text += "    wrong += sizeof text != sizeof bytes || std::memcmp(text, bytes, sizeof bytes) != 0; }\n";
  }
  text += "  return wrong;\n}\n";
  ASSERT_EQ(Complaints(text, "-trigraphs -Wno-trigraphs -Wno-overlength-strings -o strings"), "");
  EXPECT_TRUE(Run("strings"));
}

// No variable's name is a macro of what the file includes: the compiler lists them.
TEST_P(Compiler, HasNoMacroThatAVariableIsNamedAfter) {
  ASSERT_EQ(Complaints("#include <recrash/test.h>\n", "-std=gnu++17 -dM -E -o macros"), "");
  std::ifstream macros(folder_ / "macros");
  std::string word, name;
  size_t count = 0;
  while (macros >> word >> name) {
    std::getline(macros, word);
    if (!IsIdentifier(name)) continue;  // one with parameters needs a bracket behind it
    ++count;
    EXPECT_NE(LocalNames({}).Next(name, 1), name);
  }
  EXPECT_GT(count, 500u);
}

INSTANTIATE_TEST_SUITE_P(Both, Compiler, ::testing::Values("g++", RECRASH_CLANGXX),
                         [](const auto& info) { return std::string(info.index == 0 ? "Gcc" : "Clang"); });

}  // namespace
}  // namespace recrash
