// Back-traces made by hand, for tests: the greeter of the samples, and one whose every text is hostile.
#ifndef RECRASH_TESTGEN_EMIT_TESTING_FRAMES_H_
#define RECRASH_TESTGEN_EMIT_TESTING_FRAMES_H_

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash::testing_frames {

template <typename T>
std::vector<uint8_t> BytesOf(const T& value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline Type Scalar(TypeKind kind, std::string name, uint64_t size) {
  Type type;
  type.kind = kind;
  type.name = std::move(name);
  type.size = size;
  type.is_signed = kind == TypeKind::kSigned;
  return type;
}

inline Type Class(std::string name, bool is_const = false) {
  Type type = Scalar(TypeKind::kClass, (is_const ? "const " : "") + name, 32);
  type.is_const = is_const;
  return type;
}

inline Type PointerTo(Type target, TypeKind kind = TypeKind::kPointer) {
  Type type = Scalar(kind, target.name + (kind == TypeKind::kPointer ? "*" : "&"), 8);
  type.pointee.push_back(std::move(target));
  return type;
}

inline Type ConstChar() {
  Type type = Scalar(TypeKind::kCharacter, "const char", 1);
  type.is_const = true;
  return type;
}

inline Type Enum(std::string name, std::vector<Enumerator> enumerators, uint64_t size = 4, bool is_signed = false) {
  Type type = Scalar(TypeKind::kEnum, std::move(name), size);
  type.enumerators = std::move(enumerators);
  type.is_signed = is_signed;
  return type;
}

inline Parameter MakeParameter(std::string name, Type type, std::vector<uint8_t> bytes, std::string rendered) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.type = std::move(type);
  parameter.bytes = std::move(bytes);
  parameter.rendered = std::move(rendered);
  parameter.complete = true;
  parameter.source = ValueSource::kRecord;
  return parameter;
}

// Numbers the parameters and gives each the word that the call needs.
inline Frame MakeFrame(uint32_t index, std::string function, std::vector<Parameter> parameters) {
  Frame frame;
  frame.index = index;
  frame.linkage_name = function;
  frame.function = std::move(function);
  frame.module = "/usr/bin/greeter";
  frame.file = "/src/greeter.cc";
  frame.declared_file = frame.file;
  frame.own = frame.monitored = frame.candidate = true;
  frame.pc = {0x401000 + index};
  frame.parameters = std::move(parameters);
  uint8_t number = 0;
  for (Parameter& parameter : frame.parameters) {
    parameter.number = ++number;
    ReplayWord word;
    word.parameter = number;
    word.size = 8;
    word.source = ValueSource::kRecord;
    frame.words.push_back(word);
  }
  return frame;
}

inline TestReport GreeterReport() {
  TestReport report;
  report.process.program = "/usr/bin/greeter";
  report.process.version = "1.4.2-g3f2a";
  report.process.crashed_at = 1'795'000'000'000'000'000;
  report.failure.signal = 11;
  return report;
}

// FormatName(this, name = nullptr), called by Greet(this, name), called by main.
inline Backtrace GreeterBacktrace() {
  const Type greeter = PointerTo(Class("Greeter"));
  Parameter self = MakeParameter("this", greeter, BytesOf(uint64_t{0x7ffe1000}), "Greeter {greeting_ = \"hello\"}");
  self.is_receiver = self.artificial = true;
  const Parameter name = MakeParameter("name", PointerTo(ConstChar()), BytesOf(uint64_t{0}), "nullptr");

  Backtrace backtrace;
  backtrace.frames.push_back(MakeFrame(0, "Greeter::FormatName(char const*)", {self, name}));
  backtrace.frames.push_back(MakeFrame(1, "Greeter::Greet(char const*)", {self, name}));
  backtrace.frames.push_back(MakeFrame(2, "main", {}));
  backtrace.frames[0].line = 41;
  backtrace.frames[0].declared_line = 38;
  backtrace.frames[0].holds_bad_value = true;
  backtrace.frames[1].line = 57;
  backtrace.frames[1].declared_line = 52;
  backtrace.frames[2].line = 70;
  backtrace.frames[2].declared_line = 64;
  backtrace.frames[2].candidate = false;
  return backtrace;
}

// What a report that was made up to do harm may hold in any text.
inline std::vector<std::string> HostileTexts() {
  return {"*/ #error out of the comment",
          "line\n#error on the next line",
          "return\r#error as well",
          "backslash at the end\\",
          "trigraph ?\?/",
          "trigraph ?\?/\n#error",
          "quote\" ; #error",
          "raw )\" R\"(",
          std::string("nul\0inside", 10),
          "\xe2\x80\xae turned round \xe2\x81\xa6",
          "\xff\xfe not UTF-8 \xc0\xaf \xed\xa0\x80",
          "\x1b[31m escape \x1b]0;title\x07",
          "//",
          "/*",
          std::string(100000, 'x'),
          std::string(5000, '\\'),
          std::string(3000, '*') + "/",
          "operator()",
          "::",
          "<<<<>>>>((((",
          "~",
          " ",
          "",
          "$(reboot) `reboot` %n%s {} {0}",
          "\xe2\x80\xa8#error after a line separator",
          "naïve – ünïcode ✓"};
}

}  // namespace recrash::testing_frames

#endif  // RECRASH_TESTGEN_EMIT_TESTING_FRAMES_H_
