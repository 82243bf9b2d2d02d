#include "testgen/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "testgen/emit/comments.h"
#include "testgen/emit/failure_text.h"
#include "testgen/emit/literal.h"
#include "testgen/emit/names.h"
#include "testgen/emit/set_lines.h"
#include "testgen/emit/spelling.h"
#include "testgen/emit/text.h"

namespace recrash {
namespace {

constexpr size_t kLongestString = 40;

// `statement` with its comment behind it, or above it when the line would be too long.
std::string Line(const std::string& statement, const std::string& comment) {
  if (comment.empty()) return fmt::format("  {}\n", statement);
  if (2 + statement.size() + 4 + comment.size() <= kColumns) return fmt::format("  {}  // {}\n", statement, comment);
  return fmt::format("  // {}\n  {}\n", comment, statement);
}

// The value's lines as a comment above the statement, for a value that one line has no room for.
std::string LinesAbove(const Parameter& parameter, const std::string& first) {
  std::string out;
  for (const std::string& line : parameter.lines) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string text = (&line == parameter.lines.data() ? first : "") + line.substr(indent);
    out += fmt::format("  //{}{}\n", std::string(indent + 1, ' '), CommentText(WithoutUnnamedNamespaces(text)));
  }
  return out;
}

std::string Rendered(const Parameter& parameter) { return CommentText(WithoutUnnamedNamespaces(parameter.rendered)); }

class TestWriter {
 public:
  TestWriter(const TestReport& report, const Backtrace& backtrace, const EmitOptions& options,
             const TypeSpeller& speller)
      : report_(report), backtrace_(backtrace), options_(options), speller_(speller) {}

  std::string Write(const Frame& frame, const EmittedTest& test);

 private:
  std::string StartText(const Frame& frame, const Start& start) const;
  // Declares a variable for the parameter; returns the expression that the call gets.
  std::string Argument(const Parameter& parameter);
  std::string Pointer(const Parameter& parameter, const std::string& name);
  std::string Enumeration(const Parameter& parameter, const std::string& name);
  // The values that the test gives to parts of the argument.
  std::string Parts(const Parameter& parameter) const;
  // Whether they say all that a comment on its value would.
  bool AreWhole(const Parameter& parameter) const;
  std::optional<std::string> ShortString(const Parameter& parameter) const;
  std::string Call(const std::vector<std::string>& arguments) const;

  const TestReport& report_;
  const Backtrace& backtrace_;
  const EmitOptions& options_;
  const TypeSpeller& speller_;

  const Frame* frame_ = nullptr;
  bool from_entry_ = false;
  LocalNames names_{{}};
  std::map<std::string, std::string> enums_;  // name: definition
  std::string body_;
};

std::string TestWriter::StartText(const Frame& frame, const Start& start) const {
  std::string out;
  if (start.depth > 0) {
    out += Line(fmt::format("frame.Depth({});", start.depth),
                "what its arguments point to is put back as it was on entry");
  }
  if (start.from_entry) out += Line("frame.FromEntry();", "memory and open files are as they were on entry");
  out += start.sealed ? Line("frame.Sealed();", "finds no files but those in the report")
                      : Line("frame.Unsealed();", "finds the files that are there now");
  for (const ReplayStream& stream : frame.streams) {
    if (!(start.rewind >> stream.parameter & 1)) continue;
    out += Line(fmt::format("frame.Rewind({});", stream.parameter),
                fmt::format("{} is put back to its beginning: an assumption that it was there on entry",
                            StreamName(frame, stream)));
  }
  return out;
}

// Memory of the crash, or read-only data of the program and its libraries, which a report leaves to their files.
bool ReadByte(const TestReport& report, TargetAddress address, uint8_t* byte) {
  if (report.Read(address, {byte, 1})) return true;
  for (const ModuleImage& image : report.replay.images) {
    for (const Region& region : image.read_only) {
      if (address < region.address || address - region.address >= region.bytes.size()) continue;
      *byte = region.bytes[address - region.address];
      return true;
    }
  }
  return false;
}

// A literal only where the pointer's own value can hardly matter: a short, printable, terminated text.
std::optional<std::string> TestWriter::ShortString(const Parameter& parameter) const {
  if (std::ranges::find(options_.load_only, frame_->index) != options_.load_only.end()) return std::nullopt;
  const Type& type = parameter.type;
  if (type.kind != TypeKind::kPointer || type.pointee.empty()) return std::nullopt;
  if (speller_.SpellPointer(type) != "const char*") return std::nullopt;
  uint64_t address = 0;
  std::copy_n(parameter.bytes.begin(), sizeof address, reinterpret_cast<uint8_t*>(&address));
  uint8_t first = 0;
  if (from_entry_ && report_.Read({address}, {&first, 1})) return std::nullopt;  // it was another text then, perhaps
  std::string text;
  for (;;) {
    uint8_t byte = 0;
    if (!ReadByte(report_, TargetAddress{address + text.size()}, &byte)) return std::nullopt;
    if (byte == 0) return text;
    if (text.size() == kLongestString || byte < 0x20 || byte > 0x7e) return std::nullopt;
    text += static_cast<char>(byte);
  }
}

std::string TestWriter::Parts(const Parameter& parameter) const {
  const auto found = options_.literals.find(frame_->index);
  return found == options_.literals.end() ? "" : SetLines(found->second, parameter.number);
}

bool TestWriter::AreWhole(const Parameter& parameter) const {
  const auto found = options_.literals.find(frame_->index);
  return found != options_.literals.end() && std::ranges::any_of(found->second, [&](const Literal& literal) {
           return literal.parameter == parameter.number && literal.is_whole;
         });
}

std::string TestWriter::Pointer(const Parameter& parameter, const std::string& name) {
  const auto spelled = speller_.SpellPointer(parameter.type);
  const bool is_null = std::ranges::all_of(parameter.bytes, [](uint8_t byte) { return byte == 0; });
  const std::string rendered = Rendered(parameter);
  if (is_null && parameter.type.kind == TypeKind::kPointer) {
    if (spelled) {
      body_ += Line(fmt::format("{} {} = nullptr;", *spelled, name), "");
    } else {
      body_ += Line(fmt::format("recrash::Address {}{{}};", name),
                    CommentText(WithoutUnnamedNamespaces(parameter.type.name) + ", null"));
    }
    return name;
  }
  if (const auto text = ShortString(parameter)) {
    body_ += Line(fmt::format("const char* {} = {};", name, CppString(*text)), "");
    return name;
  }
  const std::string at = from_entry_ ? "at the crash: " : "";
  const std::string statement =
      spelled ? fmt::format("auto* {} = frame.Load<{}>({});", name, *spelled, parameter.number)
              : fmt::format("auto {} = frame.Load<recrash::Address>({});", name, parameter.number);
  const std::string type = spelled ? "" : parameter.type.name + ": ";
  if (AreWhole(parameter)) {
    body_ += Line(statement, spelled ? "" : CommentText(WithoutUnnamedNamespaces(parameter.type.name)));
  } else if (!parameter.lines.empty()) {
    body_ += LinesAbove(parameter, type + at) + Line(statement, "");
  } else {
    body_ +=
        Line(statement, rendered.empty() ? "" : CommentText(WithoutUnnamedNamespaces(type + at + parameter.rendered)));
  }
  body_ += Parts(parameter);
  return name;
}

std::string TestWriter::Enumeration(const Parameter& parameter, const std::string& name) {
  const auto literal = options_.opaque_types ? std::nullopt : MakeEnumLiteral(parameter.type, parameter.bytes);
  const bool hides = literal && (speller_.DeclaredNames().contains(literal->name) ||
                                 (enums_.contains(literal->name) && enums_[literal->name] != literal->definition));
  if (literal && !hides) {
    if (enums_.emplace(literal->name, literal->definition).second) body_ += Line(literal->definition, "");
    body_ += Line(fmt::format("const auto {} = {};", name, literal->value),
                  literal->named ? "" : "no enumerator has this value");
    return name;
  }
  const auto scalar = SpellScalar(parameter.type);
  const auto number = ScalarLiteral(parameter.type, parameter.bytes);
  if (!scalar || !number) return "recrash::AsRecorded";
  body_ += Line(fmt::format("const {} {} = {};", *scalar, name, *number),
                CommentText(WithoutUnnamedNamespaces(fmt::format("{}: {}", parameter.type.name, parameter.rendered))));
  return name;
}

std::string TestWriter::Argument(const Parameter& parameter) {
  const Type& type = parameter.type;
  const bool reaches_call =
      std::ranges::any_of(frame_->words, [&](const ReplayWord& word) { return word.parameter == parameter.number; });
  const size_t needed = type.is_address() ? sizeof(uint64_t) : type.size;
  const std::string label = parameter.name.empty() ? fmt::format("argument {}", parameter.number) : parameter.name;
  const auto as_recorded = [&](const std::string& why) {
    body_ += Line("// " + CommentText(WithoutUnnamedNamespaces(fmt::format("{}: {}", label, why))), "");
    return std::string("recrash::AsRecorded");
  };
  if (!parameter.complete || !reaches_call || needed == 0 || parameter.bytes.size() < needed)
    return as_recorded(parameter.rendered.empty() ? "not used by the function" : parameter.rendered);
  const auto named = [&] { return names_.Next(parameter.name, parameter.number); };
  if (type.is_address()) return Pointer(parameter, named());
  if (type.kind == TypeKind::kEnum) {
    const std::string expression = Enumeration(parameter, named());
    return expression == "recrash::AsRecorded" ? as_recorded(parameter.rendered) : expression;
  }
  const auto scalar = SpellScalar(type);
  if (!scalar || parameter.indirect) {
    if (AreWhole(parameter)) {
      as_recorded(type.name);
      body_ += Parts(parameter);
      return "recrash::AsRecorded";
    }
    const bool says_type = parameter.rendered.starts_with(type.name);
    if (parameter.lines.empty() && Parts(parameter).empty())
      return as_recorded(says_type ? parameter.rendered : fmt::format("{}, {}", type.name, parameter.rendered));
    if (parameter.lines.empty())
      as_recorded(says_type ? parameter.rendered : fmt::format("{}, {}", type.name, parameter.rendered));
    body_ += LinesAbove(parameter, fmt::format("{}: ", label)) + Parts(parameter);
    return "recrash::AsRecorded";
  }
  const std::string name = named();
  if (const auto literal = ScalarLiteral(type, parameter.bytes)) {
    body_ += Line(fmt::format("const {} {} = {};", *scalar, name, *literal), "");
  } else {
    body_ +=
        Line(fmt::format("const auto {} = frame.Load<{}>({});", name, *scalar, parameter.number), Rendered(parameter));
  }
  return name;
}

std::string TestWriter::Call(const std::vector<std::string>& arguments) const {
  constexpr std::string_view kHead = "  RECRASH_EXPECT_FIXED(frame.Call(";
  std::string line(kHead), out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string piece = arguments[i] + (i + 1 < arguments.size() ? "," : "));");
    if (line.size() + 1 + piece.size() > kColumns) {
      out += line + '\n';
      line = std::string(kHead.size(), ' ');
    } else if (i > 0) {
      line += ' ';
    }
    line += piece;
  }
  return out + line + (arguments.empty() ? "));\n" : "\n");
}

std::string TestWriter::Write(const Frame& frame, const EmittedTest& test) {
  const Start& start = test.start;
  frame_ = &frame;
  from_entry_ = start.from_entry;
  names_ = LocalNames(speller_.DeclaredNames());
  enums_.clear();
  body_.clear();

  std::vector<const Parameter*> parameters;
  for (const Parameter& parameter : frame.parameters)
    if (parameter.number != 0) parameters.push_back(&parameter);
  std::ranges::sort(parameters, {}, &Parameter::number);

  std::vector<std::string> arguments;
  for (const Parameter* parameter : parameters) {
    // Call takes its arguments by position; one that debug information leaves out keeps its place.
    if (parameter->number <= arguments.size()) continue;
    while (arguments.size() + 1 < parameter->number) arguments.emplace_back("recrash::AsRecorded");
    arguments.push_back(Argument(*parameter));
  }
  std::string out = TestComment(report_, backtrace_, frame, test, options_.verified);
  const std::string_view suite = frame.inlined && frame.entry.value == 0 ? kTwinSuite : kTestSuite;
  const std::string_view prefix = test.enabled ? "" : kDisabledPrefix;
  out += fmt::format("TEST({}, {}{}) {{\n  recrash::Frame frame({});\n", suite, prefix, TestName(frame), frame.index);
  return out + StartText(frame, start) + body_ + Call(arguments) + "}\n";
}

const Frame* FindFrame(const Backtrace& backtrace, uint32_t index) {
  const auto found = std::ranges::find(backtrace.frames, index, &Frame::index);
  return found == backtrace.frames.end() ? nullptr : &*found;
}

}  // namespace

std::string TestName(const Frame& frame) {
  std::string name = fmt::format("Frame{}_", frame.index);
  std::string function = PlainFunction(frame.function);
  if (const size_t tilde = function.rfind('~'); tilde != std::string::npos)
    function = function.substr(0, tilde) + "destructor";
  for (char c : function) {
    const bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    if (plain) {
      name += c;
    } else if (!name.ends_with('_')) {
      name += '_';
    }
  }
  if (name.size() > 80) name.resize(80);
  while (name.ends_with('_')) name.pop_back();
  return name;
}

std::string EmitTests(const TestReport& report, const Backtrace& backtrace, const EmitOptions& options) {
  TypeSpeller speller(options.opaque_types);
  for (const EmittedTest& test : options.tests)
    if (const Frame* frame = FindFrame(backtrace, test.frame))
      for (const Parameter& parameter : frame->parameters)
        if (parameter.complete) speller.Note(parameter.type);

  const bool all_enabled = std::ranges::all_of(options.tests, &EmittedTest::enabled);
  std::string out = HeadComment(report, backtrace, options.report_name, all_enabled);
  out += "#include <recrash/test.h>\n";
  if (const std::string declarations = speller.Declarations(); !declarations.empty()) out += "\n" + declarations;

  TestWriter writer(report, backtrace, options, speller);
  for (const EmittedTest& test : options.tests)
    if (const Frame* frame = FindFrame(backtrace, test.frame)) out += "\n" + writer.Write(*frame, test);
  return out;
}

}  // namespace recrash
