#include "testgen/emit/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_frames::BytesOf;
using testing_frames::Class;
using testing_frames::Enum;
using testing_frames::MakeFrame;
using testing_frames::MakeParameter;
using testing_frames::PointerTo;
using testing_frames::Scalar;

// The whole of what a developer finds after the greeter's crash.
TEST(EmitTests, OfTheGreeter) {
  EmitOptions options;
  options.report_name = "greeter-20261118-110640-4242";
  options.verified = true;
  options.tests = {{0, {.sealed = true}}, {1, {.depth = 1, .sealed = true}}};
  EXPECT_EQ(EmitTests(testing_frames::GreeterReport(), testing_frames::GreeterBacktrace(), options),
            R"(// SIGSEGV in FormatName at greeter.cc:41
//
// Program  greeter, version 1.4.2-g3f2a
// Crashed  2026-11-18 11:06:40 UTC
// Report   greeter-20261118-110640-4242
//
//   #0   Greeter::FormatName(name=nullptr)  greeter.cc:41
//   #1   Greeter::Greet(name=nullptr)  greeter.cc:57
//   #2   main()  greeter.cc:70
//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the call fails, in whatever way. Made by recrash; yours to edit and keep.
#include <recrash/test.h>

struct Greeter;

// Frame 0: Greeter::FormatName, greeter.cc:38, stood at line 41.
// An argument is the bad address itself. The function that failed: what it was given and what it made of it are both
// here.
TEST(CrashTest, Frame0_Greeter_FormatName) {
  recrash::Frame frame(0);
  frame.Sealed();  // finds no files but those in the report
  auto* self = frame.Load<Greeter*>(1);  // Greeter {greeting_ = "hello"}
  const char* name = nullptr;
  RECRASH_EXPECT_FIXED(frame.Call(self, name));
}

// Frame 1: Greeter::Greet, greeter.cc:52, stood at line 57.
// Hands frame 0 the bad address.
TEST(CrashTest, Frame1_Greeter_Greet) {
  recrash::Frame frame(1);
  frame.Depth(1);  // what its arguments point to is put back as it was on entry
  frame.Sealed();  // finds no files but those in the report
  auto* self = frame.Load<Greeter*>(1);  // Greeter {greeting_ = "hello"}
  const char* name = nullptr;
  RECRASH_EXPECT_FIXED(frame.Call(self, name));
}
)");
}

// Parts of arguments as values: what they say needs no comment.
TEST(EmitTests, OfValues) {
  EmitOptions options;
  options.tests = {{1, {.sealed = true}}};
  options.literals[1] = {{1, "self->greeting_", "hello", true},
                         {1, "self->scale_", 0.1f, true},
                         {1, "self->half_", 0.5, true},
                         {1, "self->least_", std::numeric_limits<int64_t>::min(), true},
                         {1, "self->most_", std::numeric_limits<uint64_t>::max(), true},
                         {1, "self->pairs_", {{"one", 'c'}, {"two", '\''}}, true},
                         {1, "self->text_", std::string(100, 'x') + "\n" + "y\"", true},
                         {1, "self->none_", std::nullopt, true}};
  const std::string text = EmitTests(testing_frames::GreeterReport(), testing_frames::GreeterBacktrace(), options);
  EXPECT_THAT(text, HasSubstr(R"(  auto* self = frame.Load<Greeter*>(1);
  frame.Set("self->greeting_", "hello");
  frame.Set("self->scale_", 0.1f);
  frame.Set("self->half_", 0.5);
  frame.Set("self->least_", -9223372036854775807 - 1);
  frame.Set("self->most_", 18446744073709551615u);
  frame.Set("self->pairs_", {{"one", 'c'}, {"two", '\''}});
  frame.Set("self->text_",
      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
      "xxxxxxxxxx\n"
      "y\"");
  frame.Set("self->none_", std::nullopt);
)"));
}

// A function that is handed a stream, which at the crash had been read: what the replay assumes is said twice.
TEST(EmitTests, OfRewoundStreams) {
  const Type stream = PointerTo(Class("std::istream"), TypeKind::kReference);
  Frame frame = MakeFrame(3, "Check(std::istream&, FILE*, int)",
                          {MakeParameter("in", stream, BytesOf(uint64_t{0x7ffe1000}), "std::istream at 0x7ffe1000"),
                           MakeParameter("", PointerTo(Class("FILE")), BytesOf(uint64_t{0x602010}), "FILE {}"),
                           MakeParameter("most", Scalar(TypeKind::kSigned, "int", 4), BytesOf(7), "7")});
  frame.streams = {{.parameter = 1}, {.parameter = 2, .kind = StreamKind::kFile}};
  Backtrace backtrace;
  backtrace.frames.push_back(frame);
  EmitOptions options;
  options.tests = {{3, {.rewind = 1 << 1 | 1 << 2}}};
  const std::string text = EmitTests(testing_frames::GreeterReport(), backtrace, options);
  EXPECT_EQ(text.substr(text.find("// Frame 3")), R"(// Frame 3: Check, greeter.cc:0.
// The function that failed: what it was given and what it made of it are both here. Reproduces with `in` and argument 2
// rewound: that nothing had been read before the call is an assumption.
TEST(CrashTest, Frame3_Check) {
  recrash::Frame frame(3);
  frame.Unsealed();  // finds the files that are there now
  frame.Rewind(1);  // `in` is put back to its beginning: an assumption that it was there on entry
  frame.Rewind(2);  // argument 2 is put back to its beginning: an assumption that it was there on entry
  auto in = frame.Load<recrash::Address>(1);  // std::istream&: std::istream at 0x7ffe1000
  auto argument2 = frame.Load<recrash::Address>(2);  // FILE*: FILE {}
  const int most = 7;
  RECRASH_EXPECT_FIXED(frame.Call(in, argument2, most));
}
)");

  options.tests = {{3}};
  EXPECT_THAT(EmitTests(testing_frames::GreeterReport(), backtrace, options), Not(HasSubstr("ew")));
}

// A test that reads what the report does not hold says so, whatever the files are called.
TEST(EmitTests, OfFramesThatNeedFiles) {
  Backtrace backtrace;
  backtrace.frames.push_back(MakeFrame(3, "Read()", {}));
  EmitOptions options;
  options.verified = true;
  options.tests = {{3}};
  TestReport report = testing_frames::GreeterReport();
  report.process.working_directory = "/home/u";
  EXPECT_THAT(EmitTests(report, backtrace, options),
              HasSubstr("Needs files as they were: files in\n// `/home/u` that the report does not hold.\n"));
  report.inputs = {{{}, "/home/u/held", 0, "", InputContent::kHeld, {}},
                   {{}, "/home/u/in\nint x;", 5, "", InputContent::kTooLarge, {}}};
  const std::string text = EmitTests(report, backtrace, options);
  EXPECT_THAT(text, Not(HasSubstr("\nint x;")));
  EXPECT_THAT(text, HasSubstr("Needs files as they were:\n// `/home/u/in"));
  EXPECT_THAT(text, Not(HasSubstr("held`")));
  options.tests = {{3, {.sealed = true}}};
  EXPECT_THAT(EmitTests(report, backtrace, options), Not(HasSubstr("Needs")));
}

// Whoever reads the test has to know that its memory is not that of the crash.
TEST(EmitTests, OfAnEntryState) {
  Backtrace backtrace;
  backtrace.frames.push_back(MakeFrame(3, "Check()", {}));
  EmitOptions options;
  options.tests = {{3, {.from_entry = true, .sealed = true}}};
  TestReport report = testing_frames::GreeterReport();
  const std::string text = EmitTests(report, backtrace, options);
  EXPECT_EQ(text.substr(text.find("// Frame 3")), R"(// Frame 3: Check, greeter.cc:0.
// The function that failed: what it was given and what it made of it are both here. Starts from the memory of its
// entry, which was recorded.
TEST(CrashTest, Frame3_Check) {
  recrash::Frame frame(3);
  frame.FromEntry();  // memory and open files are as they were on entry
  frame.Sealed();  // finds no files but those in the report
  RECRASH_EXPECT_FIXED(frame.Call());
}
)");
  EntryState& state = report.replay.entry_states.emplace_back();
  state.frame = 3;
  state.origin = Origin::kDerived;
  state.outer = 5;
  EXPECT_THAT(EmitTests(report, backtrace, options),
              HasSubstr("memory of its\n// entry, which a replay of frame 5 came to."));
}

// The part of a file that a test is about: the body of frame 0's TEST.
std::string BodyOf(const Frame& frame, const TestReport& report = testing_frames::GreeterReport(),
                   EmitOptions options = {}) {
  Backtrace backtrace;
  backtrace.frames.push_back(frame);
  if (options.tests.empty()) options.tests = {{frame.index, {.sealed = true}}};
  const std::string text = EmitTests(report, backtrace, options);
  const size_t begin = text.find("  recrash::Frame frame");
  return text.substr(begin, text.size() - begin - 2);
}

TEST(EmitTests, WritesValuesAsLiterals) {
  const Frame frame = MakeFrame(
      0, "Draw(...)",
      {MakeParameter("depth", Scalar(TypeKind::kSigned, "int", 4), BytesOf(-3), "-3"),
       MakeParameter("ratio", Scalar(TypeKind::kFloat, "double", 8), BytesOf(0.5), "0.5"),
       MakeParameter("encoding", Enum("Encoding", {{"kAscii", 0}, {"kUtf8", 1}}), BytesOf(uint32_t{1}), "kUtf8"),
       MakeParameter("other", Enum("Encoding", {{"kAscii", 0}, {"kUtf8", 1}}), BytesOf(uint32_t{9}), "9"),
       MakeParameter("nan", Scalar(TypeKind::kFloat, "float", 4), BytesOf(uint32_t{0x7fc00000}), "nan")});
  EXPECT_EQ(BodyOf(frame),
            R"(  recrash::Frame frame(0);
  frame.Sealed();  // finds no files but those in the report
  const int depth = -3;
  const double ratio = 0.5;
  enum class Encoding : std::uint32_t { kAscii = 0, kUtf8 = 1 };
  const auto encoding = Encoding::kUtf8;
  const auto other = static_cast<Encoding>(9);  // no enumerator has this value
  const auto nan = frame.Load<float>(5);  // nan
  RECRASH_EXPECT_FIXED(frame.Call(depth, ratio, encoding, other, nan));
)");
}

TestReport WithText(uint64_t address, const std::string& text) {
  TestReport report = testing_frames::GreeterReport();
  Region region;
  region.address = {address};
  region.bytes.assign(text.begin(), text.end());
  report.memory.push_back(region);
  return report;
}

TEST(EmitTests, WritesShortStringsAsLiterals) {
  const Frame frame = MakeFrame(
      0, "Print(char const*)",
      {MakeParameter("text", PointerTo(testing_frames::ConstChar()), BytesOf(uint64_t{0x1000}), "\"a \\\"b\\\"\"")});
  const TestReport report = WithText(0x1000, std::string("a \"b\"\0", 6));
  EXPECT_THAT(BodyOf(frame, report), HasSubstr("  const char* text = \"a \\\"b\\\"\";\n"));

  // A literal of the program's own lies in its file.
  TestReport read_only = testing_frames::GreeterReport();
  read_only.replay.images = {{{0x1000}, report.memory, {}}};
  EXPECT_THAT(BodyOf(frame, read_only), HasSubstr("  const char* text = \"a \\\"b\\\"\";\n"));

  // Where the frame starts from its entry's memory, that of the crash may be another text; the program's own is the
  // same.
  EmitOptions entry;
  entry.tests = {{0, {.from_entry = true, .sealed = true}}};
  EXPECT_THAT(BodyOf(frame, report, entry),
              HasSubstr("auto* text = frame.Load<const char*>(1);  // at the crash: \"a \\\"b\\\"\""));
  EXPECT_THAT(BodyOf(frame, read_only, entry), HasSubstr("  const char* text = \"a \\\"b\\\"\";\n"));

  // Not where the tests must not rely on it, nor when it is long, unprintable, unterminated or not there.
  EmitOptions options;
  options.load_only = {0};
  EXPECT_THAT(BodyOf(frame, report, options), HasSubstr("auto* text = frame.Load<const char*>(1);"));
  for (const std::string& other :
       {std::string(41, 'x') + '\0', std::string("\n\0", 2), std::string("cut"), std::string()})
    EXPECT_THAT(BodyOf(frame, WithText(0x1000, other)), HasSubstr("auto* text = frame.Load<const char*>(1);"));
}

TEST(EmitTests, LeavesAsRecordedWhatHasNoLiteral) {
  Parameter by_value = MakeParameter("options", Class("Options"), std::vector<uint8_t>(32), "Options {depth = 3}");
  Parameter unused = MakeParameter("count", Scalar(TypeKind::kSigned, "int", 4), {}, "");
  unused.complete = false;
  const Parameter last = MakeParameter("", Scalar(TypeKind::kBool, "bool", 1), BytesOf(uint8_t{1}), "true");
  EXPECT_EQ(BodyOf(MakeFrame(0, "Run(Options, int, bool)", {by_value, unused, last})),
            R"(  recrash::Frame frame(0);
  frame.Sealed();  // finds no files but those in the report
  // options: Options {depth = 3}
  // count: not used by the function
  const bool argument3 = true;
  RECRASH_EXPECT_FIXED(frame.Call(recrash::AsRecorded, recrash::AsRecorded, argument3));
)");
}

// A parameter that the call does not get (passed in a way that was not kept) cannot be given either.
TEST(EmitTests, LeavesAsRecordedWhatNoWordCarries) {
  Frame frame = MakeFrame(0, "f(int)", {MakeParameter("n", Scalar(TypeKind::kSigned, "int", 4), BytesOf(3), "3")});
  frame.words.clear();
  EXPECT_THAT(BodyOf(frame), HasSubstr("frame.Call(recrash::AsRecorded)"));
}

TEST(EmitTests, KeepsPlacesOfParametersThatDebugInformationLeavesOut) {
  Frame frame = MakeFrame(0, "f(int, int)", {MakeParameter("n", Scalar(TypeKind::kSigned, "int", 4), BytesOf(3), "3")});
  frame.parameters[0].number = frame.words[0].parameter = 2;
  EXPECT_THAT(BodyOf(frame), HasSubstr("frame.Call(recrash::AsRecorded, n)"));
}

TEST(EmitTests, GivesVariablesNamesThatMeanNothingElse) {
  const Type number = Scalar(TypeKind::kSigned, "int", 4);
  std::vector<Parameter> parameters;
  for (const char* name : {"class", "frame", "EOF", "errno", "x", "x", "__x", "a b", "st_atime", "recrash"})
    parameters.push_back(MakeParameter(name, number, BytesOf(1), "1"));
  EXPECT_THAT(BodyOf(MakeFrame(0, "f()", parameters)),
              HasSubstr("frame.Call(class_, frame_, EOF_, errno_, x, x_2, x_3, argument8, st_atime_, recrash_)"));
}

// `Tree* Tree` is fine C++ in a parameter list and not in a block.
TEST(EmitTests, GivesVariablesNoNameOfAType) {
  const Frame frame =
      MakeFrame(0, "f(Tree*)", {MakeParameter("Tree", PointerTo(Class("Tree")), BytesOf(uint64_t{16}), "Tree {}")});
  EXPECT_THAT(BodyOf(frame), HasSubstr("auto* Tree_2 = frame.Load<Tree*>(1);"));
}

TEST(EmitTests, KnowsTheStringOfTheStandardLibrary) {
  const Frame frame = MakeFrame(0, "f(std::string const&)",
                                {MakeParameter("text", PointerTo(Class("std::string", true), TypeKind::kReference),
                                               BytesOf(uint64_t{16}), "\"abc\"")});
  EXPECT_THAT(BodyOf(frame), HasSubstr("auto* text = frame.Load<const std::string*>(1);  // \"abc\"\n"));
}

TEST(EmitTests, WithOpaqueTypesDeclaresNothing) {
  Backtrace backtrace = testing_frames::GreeterBacktrace();
  EmitOptions options;
  options.tests = {{0}};
  options.opaque_types = true;
  const std::string text = EmitTests(testing_frames::GreeterReport(), backtrace, options);
  EXPECT_THAT(text, Not(HasSubstr("struct Greeter;")));
  EXPECT_THAT(text, HasSubstr("auto self = frame.Load<recrash::Address>(1);  // Greeter*: Greeter {"));
}

TEST(EmitTests, SaysWhatIsHandedOn) {
  const Type node = PointerTo(Class("Node"));
  Backtrace backtrace;
  backtrace.frames.push_back(
      MakeFrame(0, "Visit(Node*)", {MakeParameter("n", node, BytesOf(uint64_t{0x64000}), "Node {}")}));
  backtrace.frames.push_back(
      MakeFrame(1, "Walk(Node*)", {MakeParameter("root", node, BytesOf(uint64_t{0x64000}), "Node {}")}));
  backtrace.frames.push_back(
      MakeFrame(2, "Walk(Node*)", {MakeParameter("root", node, BytesOf(uint64_t{0x32000}), "Node {}")}));
  EmitOptions options;
  options.tests = {{0}, {1}, {2}};
  const std::string text = EmitTests(testing_frames::GreeterReport(), backtrace, options);
  EXPECT_THAT(text, HasSubstr("// The function that failed: what it was given and what it made of it are both here."));
  EXPECT_THAT(text, HasSubstr("// Hands `root` on to frame 0 as `n`."));
  EXPECT_THAT(text, HasSubstr("// The same function as frame 1, one recursion further out."));
}

// What a fix may leave red is for the debugger; of the best test the same is said where nothing better is there.
TEST(EmitTests, SaysWhyATestIsDisabled) {
  EmitOptions options;
  options.tests = {{.frame = 1, .enabled = true, .doubt = "an argument is bad"},
                   {.frame = 0, .enabled = false, .doubt = "it never\nreturns"}};
  const std::string text = EmitTests(testing_frames::GreeterReport(), testing_frames::GreeterBacktrace(), options);
  EXPECT_THAT(text, HasSubstr("// Disabled tests are for the debugger"));
  EXPECT_THAT(text, HasSubstr("The outermost test of this crash; a fix may leave it red: an argument is bad.\n"
                              "TEST(CrashTest, Frame1_Greeter_Greet) {\n"));
  EXPECT_THAT(text,
              HasSubstr("// Disabled: it never\\nreturns\nTEST(CrashTest, DISABLED_Frame0_Greeter_FormatName) {\n"));
  EXPECT_LT(text.find("Frame1_"), text.find("Frame0_"));
  options.tests = {{.frame = 0}};
  EXPECT_THAT(EmitTests(testing_frames::GreeterReport(), testing_frames::GreeterBacktrace(), options),
              Not(HasSubstr("Disabled")));
}

// Two pointers that are null are not the same one for that.
TEST(EmitTests, DoesNotSayThatANullIsHandedOn) {
  const Type node = PointerTo(Class("Node"));
  Backtrace backtrace;
  for (uint32_t i = 0; i < 2; ++i)
    backtrace.frames.push_back(
        MakeFrame(i, "Visit(Node*)", {MakeParameter("n", node, BytesOf(uint64_t{0}), "nullptr")}));
  EmitOptions options;
  options.tests = {{0}, {1}};
  EXPECT_THAT(EmitTests(testing_frames::GreeterReport(), backtrace, options), Not(HasSubstr("Hands")));
}

// What one line has no room for stands above the statement, and the head has what surrounds the failing stack.
TEST(EmitTests, OverSeveralLines) {
  Parameter self = MakeParameter("job", PointerTo(Class("Job")), BytesOf(uint64_t{0x7000}), "Job {…}");
  self.lines = {"Job {", "  name = \"*/ a\",", "}"};
  Backtrace backtrace;
  backtrace.frames.push_back(MakeFrame(0, "Run(Job*)", {self}));
  backtrace.around.source = SourceExcerpt{9, 10, {"int Run(Job* job) {", "\treturn job->next->id; \\", "}"}};
  backtrace.around.thrown = RenderedValue{"Error {code = 7}", {}};
  backtrace.around.threads = {
      {42, "worker", {{"pthread_mutex_lock", "", 0, false}, {"Work(int)", "/s/w.cc", 3, true}}}};
  backtrace.around.locks = {"Queue::mutex_ is held by thread 42"};
  EmitOptions options;
  options.tests = {{0}};
  const std::string text = EmitTests(testing_frames::GreeterReport(), backtrace, options);
  EXPECT_THAT(text, HasSubstr("  // Job {\n  //   name = \"* / a\",\n  // }\n  auto* job = frame.Load<Job*>(1);\n"));
  EXPECT_THAT(text, HasSubstr("// Thrown   Error {code = 7}\n//\n"
                              "//       9 | int Run(Job* job) {\n"
                              "//  >   10 |   return job->next->id; \\.\n"
                              "//      11 | }\n//\n"));
  EXPECT_THAT(text, HasSubstr("//\n// Thread 42 (worker), in pthread_mutex_lock\n//   Work  w.cc:3\n"
                              "// Lock: Queue::mutex_ is held by thread 42\n//\n"));
}

TEST(TestName, IsAnIdentifierOfAnyFunction) {
  EXPECT_EQ(TestName(MakeFrame(0, "ns::Tree<int>::insert(int)", {})), "Frame0_ns_Tree_insert");
  EXPECT_EQ(TestName(MakeFrame(1, "(anonymous namespace)::Greeter::Greet(char const*)", {})), "Frame1_Greeter_Greet");
  EXPECT_EQ(TestName(MakeFrame(2, "Tree::~Tree()", {})), "Frame2_Tree_destructor");
  EXPECT_EQ(TestName(MakeFrame(3, "A::operator<<(int)", {})), "Frame3_A_operator");
  EXPECT_EQ(TestName(MakeFrame(4, "", {})), "Frame4");
  for (const std::string& hostile : testing_frames::HostileTexts()) {
    const std::string name = TestName(MakeFrame(5, hostile, {}));
    EXPECT_LE(name.size(), 80u);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), name.npos);
  }
}

// A recursion of thousands of frames must not bury the tests.
TEST(EmitTests, ShortensALongBacktrace) {
  Backtrace backtrace;
  for (uint32_t i = 0; i < 1000; ++i) backtrace.frames.push_back(MakeFrame(i, "Walk(Node*)", {}));
  backtrace.skipped = 5000;
  EmitOptions options;
  options.tests = {{0}};
  const std::string text = EmitTests(testing_frames::GreeterReport(), backtrace, options);
  EXPECT_THAT(text, HasSubstr("//   ... 5960 more frames ...\n"));
  EXPECT_LT(std::ranges::count(text, '\n'), 70);
}

}  // namespace
}  // namespace recrash
