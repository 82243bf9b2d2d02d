#include "testgen/suite/minimal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "agent/base/own_reports.h"
#include "agent/report/maps.h"
#include "agent/report/reader.h"
#include "agent/report/writer.h"
#include "testgen/suite/build.h"
#include "testgen/verify/needed.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kMostChecks = 200;
// Behind a number. A reader knows such a report by this sentence.
constexpr char kReduced[] = " bytes of memory that the tests do not touch: taken out by `recrash redact`";
// Of struct pthread and the table of thread-local blocks (dtv), glibc on x86-64.
constexpr uint64_t kDtv = 8;
constexpr uint64_t kDtvEntry = 16;
constexpr uint64_t kMostBlocks = 1024;

using PageSet = std::set<TargetAddress>;

TargetAddress PageOf(TargetAddress address) { return address - address.value % kPage; }

void AddPages(TargetAddress start, uint64_t size, PageSet* pages) {
  for (TargetAddress page = PageOf(start); page < start + size; page = page + kPage) pages->insert(page);
}

// The thread control block and the thread-local variables of modules: a replay reads them before its call.
void AddThreadPages(const Report& report, PageSet* pages) {
  const Thread* thread = report.failing_thread();
  if (!thread) return;
  const TargetAddress control_block{thread->registers.fs_base};
  TargetAddress lowest = control_block;
  const std::optional<uint64_t> dtv = report.ReadWord(control_block + kDtv);
  const uint64_t blocks = dtv ? report.ReadWord({*dtv - kDtvEntry}).value_or(0) : 0;
  for (uint64_t i = 0; i <= std::min(blocks, kMostBlocks); ++i) {
    const std::optional<uint64_t> block = report.ReadWord({dtv.value_or(0) + i * kDtvEntry});
    if (!block) continue;
    AddPages({*dtv + i * kDtvEntry}, kDtvEntry, pages);
    if (i > 0 && *block < control_block.value && report.FindMapping({*block}) == report.FindMapping(control_block))
      lowest = std::min(lowest, {*block});
  }
  AddPages(lowest, control_block + kPage - lowest, pages);
}

// What a replay itself reads or writes before its call.
PageSet PagesOfReplays(const TestReport& report) {
  PageSet pages;
  AddThreadPages(report, &pages);
  if (report.thrown) AddPages(report.thrown->address, report.thrown->bytes.size(), &pages);
  for (const ReplayFrame& frame : report.replay.frames) {
    AddPages(frame.entry_sp, sizeof(uint64_t), &pages);
    for (const ReplayWord& word : frame.words)
      if (word.location == abi::Location::kStack)
        AddPages(frame.entry_sp + 8 + word.stack_offset, word.bytes.size(), &pages);
    for (const ReplayField& field : frame.fields)
      if (field.depth <= frame.start.depth) AddPages(field.address, field.bytes.size(), &pages);
  }
  return pages;
}

class Minimizer {
 public:
  Minimizer(const VerifyOptions& options, TestReport* report) : options_(options), report_(*report) {}

  Result<Minimal> Run() {
    const Result<std::vector<uint32_t>> changed = ChangedTests(report_, options_);
    if (!changed) return changed.error();
    if (!changed->empty() || report_.replay.frames.empty())
      return Error{Errc::kRefused, fmt::format("nothing is taken out: {}",
                                               changed->empty() ? "the report has no tests"
                                                                : fmt::format("the tests of these frames do not "
                                                                              "reproduce as it is: {}",
                                                                              fmt::join(*changed, ", ")))};
    const uint64_t before = WithheldBytes(report_.mappings);
    if (const Status status = TakeRegisters(); !status) return status.error();
    if (const Status status = TakeMemory(); !status) return status.error();
    if (const Status status = TakeDeadStack(); !status) return status.error();
    if (const Status status = TakeFiles(); !status) return status.error();
    done_.withheld = WithheldBytes(report_.mappings) - before;
    done_.kept = SizeOf(report_.memory);
    report_.losses.push_back(fmt::format("{}{}", done_.withheld, kReduced));
    return done_;
  }

 private:
  Result<bool> StillReproduces(const TestReport& report) {
    VerifyOptions once = options_;
    once.runs = 1;
    ++done_.checks;
    const Result<std::vector<uint32_t>> changed = ChangedTests(report, once);
    if (!changed) return changed.error();
    return changed->empty();
  }

  // Takes `reduced` in place of the report if all tests reproduce with it.
  Result<bool> TakeIfNotNeeded(TestReport reduced) {
    const Result<bool> reproduces = StillReproduces(reduced);
    if (reproduces && *reproduces) report_ = std::move(reduced);
    return reproduces;
  }

  Status TakeRegisters() {
    TestReport reduced = report_;
    reduced.snapshots.reset();
    reduced.code = {};
    DropRegisters(&reduced);
    const Result<bool> taken = TakeIfNotNeeded(std::move(reduced));
    return taken ? Status(Ok{}) : taken.error();
  }

  // What a replay uses of registers: the stack pointer, the thread, and how floating point numbers are rounded.
  static void DropRegisters(TestReport* report) {
    for (Thread& thread : report->threads) {
      Registers kept;
      if (thread.failing) {
        kept.fs_base = thread.registers.fs_base;
        kept.dwarf[7] = thread.registers.sp();
        kept.dwarf[16] = thread.registers.pc();
        kept.fxsave.assign(thread.registers.fxsave.size(), 0);
        const size_t control_words = std::min<size_t>(kept.fxsave.size(), 32);
        std::copy_n(thread.registers.fxsave.begin(), control_words, kept.fxsave.begin());
      }
      thread.registers = std::move(kept);
    }
  }

  // Pages with contents, in memory that can be withheld.
  std::vector<TargetAddress> Candidates() const {
    const PageSet needed = PagesOfReplays(report_);
    PageSet pages;
    const auto add = [&](const std::vector<Region>& memory) {
      for (const Region& region : memory) {
        for (uint64_t at = 0; at + kPage <= region.bytes.size(); at += kPage) {
          const TargetAddress page = region.address + at;
          const Mapping* mapping = report_.FindMapping(page);
          const bool can_go = mapping && IsPrivateWritable(*mapping) && !report_.FindModule(page);
          if (can_go && !needed.contains(page)) pages.insert(page);
        }
      }
    };
    add(report_.memory);
    for (const EntryState& state : report_.replay.entry_states)
      for (const EntryMemory::Layer& layer : state.memory.layers()) add(layer);
    return {pages.begin(), pages.end()};
  }

  Status TakeMemory() {
    std::vector<TargetAddress> pages = Candidates();
    const Result<std::vector<TargetAddress>> touched = TouchedPages(report_, options_, pages);
    if (!touched) return touched.error();
    const PageSet needed(touched->begin(), touched->end());
    std::erase_if(pages, [&](TargetAddress page) { return needed.contains(page); });
    return TakePages(pages);
  }

  // Withholds as many of them as can be.
  Status TakePages(std::span<const TargetAddress> pages) {
    if (pages.empty() || done_.checks >= kMostChecks) return Ok{};
    TestReport reduced = report_;
    for (const plan::Range& range : JoinToRanges({pages.begin(), pages.end()}))
      Withhold({range.start}, {range.end}, &reduced.mappings);
    DropWithheld(&reduced);
    const Result<bool> taken = TakeIfNotNeeded(std::move(reduced));
    if (!taken) return taken.error();
    if (*taken || pages.size() == 1) return Ok{};
    const size_t half = pages.size() / 2;
    if (const Status status = TakePages(pages.first(half)); !status) return status;
    return TakePages(pages.subspan(half));
  }

  // No call lives below the stack pointer of the innermost test. The tests' own calls go there, so it stays mapped.
  Status TakeDeadStack() {
    const auto innermost = std::ranges::min_element(report_.replay.frames, {}, &ReplayFrame::entry_sp);
    const TargetAddress end = PageOf(innermost->entry_sp);
    const Mapping* stack = report_.FindMapping(innermost->entry_sp);
    if (!stack) return Ok{};
    TargetAddress start = stack->start;
    for (; stack != report_.mappings.data() && stack[-1].end == start && stack[-1].path == stack->path; --stack)
      start = stack[-1].start;
    TestReport reduced = report_;
    reduced.memory = Outside(std::move(reduced.memory), start, end);
    const Result<bool> taken = TakeIfNotNeeded(std::move(reduced));
    return taken ? Status(Ok{}) : taken.error();
  }

  Status TakeFiles() {
    for (size_t i = 0; i < report_.inputs.size(); ++i) {
      if (!report_.inputs[i].held()) continue;
      TestReport reduced = report_;
      reduced.inputs[i].content = InputContent::kNotAsked;
      reduced.inputs[i].bytes.clear();
      const Result<bool> taken = TakeIfNotNeeded(std::move(reduced));
      if (!taken) return taken.error();
      if (*taken) ++done_.files;
    }
    return Ok{};
  }

  const VerifyOptions& options_;
  TestReport& report_;
  Minimal done_;
};

VerifyOptions OptionsOf(const Suite& suite) {
  VerifyOptions options;
  options.program = suite.program;
  options.code = suite.code();
  options.sandbox = suite.sandbox;
  return options;
}

// Of the file, as it will be read.
Status CheckWritten(const std::string& path, const VerifyOptions& options) {
  const Result<TestReport> written = ReadTestReport(path);
  if (!written) return written.error();
  const Result<std::vector<uint32_t>> changed = ChangedTests(*written, options);
  if (!changed) return changed.error();
  if (changed->empty()) return Ok{};
  return Error{Errc::kRefused, fmt::format("nothing is taken out: the tests of these frames would not reproduce: {}",
                                           fmt::join(*changed, ", "))};
}

using Names = std::set<std::string>;

// "Frame2_Greeter_Greet" is of a frame that was taken out.
bool IsOfGoneFrame(const std::string& name, const ReplayData& replay) {
  const size_t digits = name.find("Frame") == 0 ? std::string_view("Frame").size() : name.size();
  uint32_t index = 0;
  const auto [end, problem] = std::from_chars(name.data() + digits, name.data() + name.size(), index);
  return problem == std::errc() && std::ranges::find(replay.frames, index, &ReplayFrame::index) == replay.frames.end();
}

// The tests that fail as recorded, where they were built.
std::optional<Names> RedTests(const Suite& suite) {
  std::error_code none;
  if (!fs::exists(suite.directory / "build/crash_test", none)) return std::nullopt;
  Result<Names> red = RunBuiltTests(suite.directory, suite.program, suite.sandbox);
  if (!red) return std::nullopt;
  std::erase_if(*red, [&](const std::string& name) { return IsOfGoneFrame(name, suite.report.replay); });
  return *std::move(red);
}

// With the file before beside it until the built tests, which people may have edited, are seen to fail as before.
Status Replace(const Suite& suite, const fs::path& report, const fs::path& with) {
  const fs::path before = report.string() + ".before";
  const std::optional<Names> red = RedTests(suite);
  std::error_code error;
  fs::rename(report, before, error);
  if (!error) fs::rename(with, report, error);
  if (error) return Error{Errc::kRefused, fmt::format("{}: cannot be replaced: {}", report.string(), error.message())};
  if (RedTests(suite) != red) {
    fs::rename(before, report, error);
    return Error{Errc::kRefused, "nothing is taken out: the built tests would not fail as they do now"};
  }
  fs::remove(before, error);
  if (suite.is_own) NoteOwnReport(report.string());
  return Ok{};
}

}  // namespace

bool IsReduced(const Report& report) {
  return std::ranges::any_of(report.losses, [](const std::string& loss) { return loss.ends_with(kReduced); });
}

Result<Minimal> ReduceTests(const Suite& suite, const fs::path& output) {
  const fs::path report = suite.directory / "crash_test.rcr";
  const fs::path written = (output.empty() ? report : output).string() + ".new";
  TestReport reduced = suite.report;
  const VerifyOptions options = OptionsOf(suite);
  Result<Minimal> done = KeepWhatTestsNeed(options, &reduced);
  if (!done) return done;
  Status status = WriteReport(reduced, written.string());
  if (status) status = CheckWritten(written.string(), options);
  std::error_code error;
  if (status && output.empty()) {
    status = Replace(suite, report, written);
  } else if (status) {
    fs::rename(written, output, error);
    if (error)
      status = Error{Errc::kRefused, fmt::format("{}: cannot be written: {}", output.string(), error.message())};
  }
  fs::remove(written, error);
  if (!status) return status.error();
  return done;
}

Result<Minimal> KeepWhatTestsNeed(const VerifyOptions& options, TestReport* report) {
  TestReport reduced = *report;
  Result<Minimal> done = Minimizer(options, &reduced).Run();
  if (done) *report = std::move(reduced);
  return done;
}

}  // namespace recrash
