#include "testgen/verify/unused.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/base/tool_function.h"
#include "agent/elf/symbol_key.h"
#include "testgen/replay/plan/load_order.h"
#include "testgen/replay/plan/translation.h"
#include "testgen/verify/unused_memory.h"

namespace recrash {
namespace {

// Of struct pthread, glibc on x86-64. glibc mixes it into the code addresses that it keeps.
constexpr uint64_t kPointerGuard = 0x30;
constexpr int kMangleShift = 17;

// The words of the report that lead into one of its images.
class Words {
 public:
  explicit Words(const TestReport& report) : report_(report) {
    if (const Thread* thread = report.failing_thread())
      guard_ = report.ReadWord({thread->registers.fs_base + kPointerGuard}).value_or(0);
    for (const Region& region : report.memory) Add(region.bytes);
    for (const EntryState& state : report.replay.entry_states)
      for (const EntryMemory::Layer& layer : state.memory.layers())
        for (const Region& region : layer) Add(region.bytes);
    if (report.thrown) Add(report.thrown->bytes);
    AddIfInside(report.replay.place.function_start.value);
    for (const ReplayFrame& frame : report.replay.frames) {
      AddIfInside(frame.entry.value);
      for (const ReplayWord& word : frame.words) Add(word.bytes);
      // Only whole aligned words of the object can be pointers.
      for (const ReplayField& field : frame.fields)
        Add(std::span(field.bytes).subspan(std::min<size_t>(-field.address.value % 8, field.bytes.size())));
    }
    std::ranges::sort(words_);
  }

  bool LeadInto(TargetAddress start, uint64_t size) const {
    const auto first = std::ranges::lower_bound(words_, start.value);
    return first != words_.end() && *first - start.value < std::max<uint64_t>(size, 1);
  }

 private:
  void Add(std::span<const uint8_t> bytes) {
    for (; bytes.size() >= sizeof(uint64_t); bytes = bytes.subspan(sizeof(uint64_t))) {
      uint64_t word;
      std::memcpy(&word, bytes.data(), sizeof word);
      AddIfInside(word);
      AddIfInside(std::rotr(word, kMangleShift) ^ guard_);
    }
  }

  void AddIfInside(uint64_t word) {
    const Module* module = report_.FindModule({word});
    if (module && report_.replay.FindImage(*module)) words_.push_back(word);
  }

  const TestReport& report_;
  uint64_t guard_ = 0;
  std::vector<uint64_t> words_;
};

// An instance of a template of the C++ library: no test calls it.
bool IsLibraryFunction(const Symbol& symbol) {
  const auto begins = [&](const char* prefix) { return symbol.name.starts_with(prefix); };
  return symbol.is_function &&
         (begins("_ZSt") || begins("_ZNSt") || begins("_ZNKSt") || begins("_ZN9__gnu_cxx") || begins("_ZNK9__gnu_cxx"));
}

// Lambdas of a frame's function, and those that were numbered with it: one more or one less tells another build's
// numbers from these.
std::set<std::string> NamesOfLambdas(const TestReport& report) {
  std::set<std::string> names;
  for (const ReplayFrame& frame : report.replay.frames) names.insert(WithoutLambdaNumbers(frame.linkage_name));
  names.erase("");
  return names;
}

void LeaveOutSymbols(TestReport* report) {
  const Words words(*report);
  const std::set<std::string> lambdas = NamesOfLambdas(*report);
  for (ModuleImage& image : report->replay.images)
    std::erase_if(image.symbols, [&](const Symbol& symbol) {
      return (IsToolSymbol(NameInKey(symbol.name)) || IsLibraryFunction(symbol)) &&
             !words.LeadInto(image.base + symbol.offset, symbol.size) &&
             !(!lambdas.empty() && lambdas.contains(WithoutLambdaNumbers(NameInKey(symbol.name))));
    });
}

void LeaveOutInlined(TestReport* report) {
  for (ModuleImage& image : report->replay.images)
    std::erase_if(image.inlined, [](const std::string& name) { return IsToolFunction(name); });
}

}  // namespace

void LeaveOutUnused(TestReport* report) {
  // What a replay asks the loader's memory for.
  if (report->replay.load_order.empty()) report->replay.load_order = LoadOrder(*report, FindDebuggersList(*report));
  LeaveOutUnusedMemory(report);
  LeaveOutSymbols(report);
  LeaveOutInlined(report);
}

}  // namespace recrash
