#include "testgen/suite/holdings.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "agent/report/maps.h"
#include "agent/report/pages.h"
#include "testgen/rerun/recorded_environment.h"

namespace recrash {
namespace {

constexpr size_t kShortestText = 6;
constexpr uint64_t kPage = 4096;
constexpr char kMask = '*';
constexpr char kTakenOut[] = ": taken out by `recrash redact`";  // the end of a loss

bool IsPrintable(uint8_t c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; }

// Calls visit(offset, text) for each run of printable characters.
template <typename Visit>
void ForEachText(std::span<const uint8_t> bytes, Visit visit) {
  for (size_t at = 0; at < bytes.size();) {
    const auto end = std::find_if_not(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end(), IsPrintable);
    const size_t size = static_cast<size_t>(end - bytes.begin()) - at;
    if (size >= kShortestText) visit(at, std::string(bytes.begin() + static_cast<ptrdiff_t>(at), end));
    at += size + 1;
  }
}

bool HasOneOf(const std::string& text, const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [&](const std::string& part) { return text.find(part) != text.npos; });
}

struct Range {
  TargetAddress start;
  uint64_t size;
};

class Redactor {
 public:
  Redactor(const Redaction& redaction, TestReport* report) : redaction_(redaction), report_(*report) {}

  Redacted Run() {
    const uint64_t before = WithheldBytes(report_.mappings);
    if (redaction_.environment) TakeEnvironment();
    if (redaction_.files) TakeFiles();
    if (redaction_.logs) TakeLogs();
    if (redaction_.notes) TakeNotes();
    if (!redaction_.texts.empty()) TakeTexts();
    for (const StackPart& part : redaction_.frames) TakeFrames(part);
    DropWithheld(&report_);
    done_.withheld = WithheldBytes(report_.mappings) - before;
    if (done_.variables != 0) Say(std::to_string(done_.variables) + " variables of the environment");
    if (done_.files != 0) Say("the contents of " + std::to_string(done_.files) + " files");
    if (done_.logs != 0) Say("the texts of " + std::to_string(done_.logs) + " logs");
    if (done_.notes != 0) Say(std::to_string(done_.notes) + " notes of the program");
    if (done_.texts != 0) Say(std::to_string(done_.texts) + " texts");
    if (done_.parts != 0) Say("frames of the stack");
    if (done_.withheld != 0) Say(std::to_string(done_.withheld) + " bytes of memory in whole pages");
    return done_;
  }

 private:
  void Say(const std::string& what) { report_.losses.push_back(what + kTakenOut); }

  // Variables lie one behind the other.
  void TakeEnvironment() {
    std::vector<Range> ranges;
    for (const std::string& variable : EnvironmentIn(report_)) {
      const std::optional<Range> range = LastPlaceOf(variable + '\0');
      if (!range) continue;
      ++done_.variables;
      if (!ranges.empty() && ranges.back().start + ranges.back().size == range->start)
        ranges.back().size += range->size;
      else
        ranges.push_back(*range);
    }
    // What follows stays a text of its own.
    for (const Range& range : ranges) Take({range.start, range.size - 1});
  }

  std::optional<Range> LastPlaceOf(const std::string& text) const {
    for (const Mapping& mapping : report_.mappings) {
      if (mapping.path != "[stack]") continue;
      for (const Region& region : report_.memory) {
        if (region.address < mapping.start || region.address >= mapping.end) continue;
        const auto found = std::ranges::find_end(region.bytes, text);
        if (!found.empty()) return Range{region.address + (found.begin() - region.bytes.begin()), text.size()};
      }
    }
    return std::nullopt;
  }

  void TakeFiles() {
    for (Input& input : report_.inputs) {
      if (!input.held()) continue;
      input.content = InputContent::kNotAsked;
      input.bytes.clear();
      ++done_.files;
    }
  }

  void TakeLogs() {
    for (KeptLog& log : report_.logs) {
      if (log.tail.empty()) continue;
      log.tail.clear();
      ++done_.logs;
    }
  }

  void TakeNotes() {
    done_.notes = report_.notes.size();
    report_.notes.clear();
  }

  void TakeTexts() {
    std::vector<Range> ranges;
    ForEachMemory([&](std::vector<Region>& memory) {
      for (const Region& region : memory) {
        ForEachText(region.bytes, [&](size_t offset, const std::string& text) {
          if (HasOneOf(text, redaction_.texts)) ranges.push_back({region.address + offset, text.size()});
        });
      }
    });
    for (const Range& range : ranges) Take(range);
    done_.texts = ranges.size();
    Process& process = report_.process;
    Failure& failure = report_.failure;
    for (std::string* text : {&process.options, &failure.abort_message, &failure.exception_what, &failure.reason})
      MaskIfOne(text);
    for (std::string& argument : process.arguments) MaskIfOne(&argument);
    for (Input& input : report_.inputs) MaskTextsIn(input.bytes);
    for (KeptLog& log : report_.logs) MaskTextsIn(log.tail);
    for (Note& note : report_.notes) {
      MaskIfOne(&note.key);
      MaskIfOne(&note.value);
    }
    if (report_.thrown) MaskTextsIn(report_.thrown->bytes);
    if (report_.replaced) {
      MaskIfOne(&report_.replaced->what);
      MaskTextsIn(report_.replaced->stack.bytes);
    }
    for (ReplayFrame& frame : report_.replay.frames)
      for (ReplayField& field : frame.fields) MaskTextsIn(field.bytes);
  }

  void TakeFrames(const StackPart& part) {
    ++done_.parts;
    ForEachMemory([&](std::vector<Region>& memory) {
      for (Region& region : memory) MaskWords(part, region.address, region.bytes);
    });
    if (report_.thrown) MaskWords(part, report_.thrown->address, report_.thrown->bytes);
    report_.replaced.reset();  // frames that nobody could name were live then
    // Calls of frames inside go below these pages, but not into them.
    const TargetAddress first = {(part.low.value + kPage - 1) & ~(kPage - 1)};
    const Mapping* stack = report_.FindMapping(part.low);
    if (part.has_outermost && stack && stack->path == "[stack]" && first < part.high)
      Withhold(first, part.high, &report_.mappings);
    for (Thread& thread : report_.threads)
      if (thread.failing) MaskRegisters(part, &thread.registers);
    if (report_.thrown) MaskRegisters(part, &report_.thrown->registers);
    TakeCalls(part);
  }

  // A return address, a saved frame pointer, or a pointer that a frame outside had in a register: without these, frames
  // outside are not found. An address tells nothing of what lies there.
  bool IsAddress(uint64_t word) const { return report_.FindMapping({word}) != nullptr; }

  void MaskWords(const StackPart& part, TargetAddress address, std::vector<uint8_t>& bytes) const {
    const TargetAddress from = std::max(part.low, address);
    const TargetAddress to = std::min(part.high, address + bytes.size());
    for (TargetAddress at = from; at < to && to - at >= sizeof(uint64_t); at = at + sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, &bytes[at - address], sizeof word);
      if (!IsAddress(word)) std::memset(&bytes[at - address], kMask, sizeof word);
    }
  }

  // Registers that calls preserve may be of any frame; the others are of the innermost.
  void MaskRegisters(const StackPart& part, Registers* registers) const {
    for (size_t number = 0; number < registers->dwarf.size(); ++number) {
      const bool is_preserved = number == 3 || number == 6 || (number >= 12 && number < 16);
      if ((is_preserved || part.has_innermost) && !IsAddress(registers->dwarf[number]))
        std::memset(&registers->dwarf[number], kMask, sizeof registers->dwarf[number]);
    }
    constexpr size_t kVectors = 160;  // of fxsave
    if (part.has_innermost && registers->fxsave.size() > kVectors)
      std::fill(registers->fxsave.begin() + kVectors, registers->fxsave.end(), kMask);
  }

  // What is known of their entries.
  void TakeCalls(const StackPart& part) {
    const auto is_of_part = [&](TargetAddress sp) { return part.low <= sp && sp < part.high; };
    ReplayData& replay = report_.replay;
    done_.tests += std::erase_if(replay.frames, [&](const ReplayFrame& frame) { return is_of_part(frame.entry_sp); });
    std::erase_if(replay.entry_states, [&](const EntryState& state) {
      return std::ranges::find(replay.frames, state.frame, &ReplayFrame::index) == replay.frames.end();
    });
    if (!report_.snapshots) return;
    for (EntryState& state : report_.snapshots->states) {
      if (!is_of_part({state.registers.sp})) continue;
      std::memset(&state.registers.integer, kMask, sizeof state.registers.integer);
      std::memset(&state.registers.vector, kMask, sizeof state.registers.vector);
    }
  }

  void MaskIfOne(std::string* text) {
    if (!HasOneOf(*text, redaction_.texts)) return;
    std::ranges::fill(*text, kMask);
    ++done_.texts;
  }

  void MaskTextsIn(std::span<uint8_t> bytes) {
    ForEachText(bytes, [&](size_t offset, const std::string& text) {
      if (HasOneOf(text, redaction_.texts)) std::memset(&bytes[offset], kMask, text.size());
    });
  }

  // Whole pages are withheld, where memory can be: the data of modules and the stack have to stay mapped.
  void Take(const Range& range) {
    const TargetAddress first = {(range.start.value + kPage - 1) & ~(kPage - 1)};
    const TargetAddress end = {(range.start.value + range.size) & ~(kPage - 1)};
    const Mapping* mapping = report_.FindMapping(first);
    const bool must_stay = report_.FindModule(first) != nullptr || (mapping && mapping->path == "[stack]");
    if (first < end && !must_stay) Withhold(first, end, &report_.mappings);
    ForEachMemory([&](std::vector<Region>& memory) {
      for (Region& region : memory) {
        const uint64_t from = std::max(range.start, region.address).value;
        const uint64_t to = std::min(range.start + range.size, region.address + region.bytes.size()).value;
        if (from < to) std::memset(&region.bytes[from - region.address.value], kMask, to - from);
      }
    });
  }

  template <typename Visit>
  void ForEachMemory(Visit visit) {
    visit(report_.memory);
    ForEachState(visit);
    if (report_.snapshots) ChangeLayers(&report_.snapshots->states, [&](EntryMemory::Layer* layer) { visit(*layer); });
  }

  // The states of tests: each has all its pages afterwards, whatever it shared with others.
  template <typename Visit>
  void ForEachState(Visit visit) {
    for (EntryState& state : report_.replay.entry_states) {
      std::vector<Region> memory = JoinPages(PagesOf(report_, state));
      visit(memory);
      state.memory = EntryMemory(std::move(memory));
    }
  }

  const Redaction& redaction_;
  TestReport& report_;
  Redacted done_;
};

}  // namespace

std::vector<HeldText> TextsIn(const Report& report) {
  std::vector<HeldText> texts;
  for (const Region& region : report.memory)
    ForEachText(region.bytes,
                [&](size_t offset, const std::string& text) { texts.push_back({region.address + offset, text}); });
  return texts;
}

std::vector<std::string> EnvironmentIn(const Report& report) { return RecordedEnvironment(report); }

bool IsRedacted(const Report& report) {
  return std::ranges::any_of(report.losses, [](const std::string& loss) { return loss.ends_with(kTakenOut); });
}

Redacted Redact(const Redaction& redaction, TestReport* report) { return Redactor(redaction, report).Run(); }

}  // namespace recrash
