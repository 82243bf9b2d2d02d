#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
struct Counter { int unread; int count; int* target; };
static int hidden_table[4] = {1, 2, 3, 4};
__attribute__((noinline)) static int Step(Counter* counter, int by) {
  counter->count += by;
  hidden_table[0] = by;
  return *counter->target + hidden_table[counter->count & 3];
}
__attribute__((noinline)) int Run(Counter* counter, int by) { return Step(counter, by) + counter->unread; }
const char* volatile text = "a text of its own";
int First() { return 1; }
extern int (*const table_of_functions[2])() = {First, nullptr};
int main(int argc, char**) {
  Counter counter{5, 6, nullptr};
  return Run(&counter, argc + 1) + 1;
}
)";

bool Holds(const ModuleImage& image, TargetAddress address) {
  return std::ranges::any_of(image.read_only, [&](const Region& region) {
    return address >= region.address && address < region.address + region.bytes.size();
  });
}

// 0 if the image does not hold it.
uint64_t WordAt(const ModuleImage& image, TargetAddress address) {
  for (const Region& region : image.read_only) {
    const uint64_t offset = address.value - region.address.value;
    uint64_t word = 0;
    if (address < region.address || offset + sizeof word > region.bytes.size()) continue;
    std::memcpy(&word, region.bytes.data() + offset, sizeof word);
    return word;
  }
  return 0;
}

bool HoldsText(const ModuleImage& image, const std::string& text) {
  return std::ranges::any_of(image.read_only,
                             [&](const Region& region) { return !std::ranges::search(region.bytes, text).empty(); });
}

class ReplayDataOf : public testing::TestWithParam<const char*> {};

TEST_P(ReplayDataOf, HoldsFramesPlaceAndImage) {
  const Fixture fixture(kProgram, Monitored(GetParam()));
  const Report report = fixture.Crash();
  const Result<Symbols> symbols = Symbols::Open(report, {});
  ASSERT_TRUE(symbols);
  const Backtrace backtrace = MustRead(report, *symbols);
  const ReplayData made = MakeReplayData(backtrace, *symbols);
  ASSERT_GE(made.frames.size(), 2u);

  const ReplayFrame& step = made.frames[0];
  EXPECT_EQ(step.index, 0u);
  EXPECT_TRUE(step.function.starts_with("Step(Counter*, int)")) << step.function;
  EXPECT_EQ(step.line, 4u);
  ASSERT_EQ(step.words.size(), 2u);
  EXPECT_EQ(step.words[0].location, abi::Location::kRdi);
  EXPECT_EQ(step.words[1].location, abi::Location::kRsi);
  EXPECT_EQ(step.words[1].bytes[0], 2);
  // The return address into Run lies where the replay will put it again.
  const auto return_address = report.ReadWord(step.entry_sp);
  ASSERT_TRUE(return_address);
  EXPECT_EQ(*return_address, backtrace.frames[1].pc.value + 1);

  EXPECT_EQ(made.place.function_start, step.entry);
  EXPECT_EQ(made.place.pc, report.failure.pc);

  // libc and its like are not the program's own.
  ASSERT_EQ(made.images.size(), 1u);
  const ModuleImage& image = made.images[0];
  EXPECT_EQ(image.base, report.program()->base);
  ASSERT_FALSE(image.read_only.empty());
  EXPECT_TRUE(std::ranges::is_sorted(image.read_only, {}, &Region::address));
  // Code is not run from there. Text is read.
  EXPECT_FALSE(Holds(image, step.entry));
  EXPECT_TRUE(HoldsText(image, "a text of its own"));
  EXPECT_TRUE(std::ranges::is_sorted(image.symbols, {}, &Symbol::offset));
  // The loader wrote the addresses there, and took away the right to write.
  const auto offset_of = [&](const char* name) {
    return std::ranges::find(image.symbols, name, &Symbol::name)->offset;
  };
  EXPECT_EQ(WordAt(image, image.base + offset_of("table_of_functions")), image.base.value + offset_of("_Z5Firstv"));
  const auto symbol = std::ranges::find(image.symbols, "_ZL12hidden_table@program.cc", &Symbol::name);
  ASSERT_NE(symbol, image.symbols.end());
  EXPECT_EQ(symbol->size, 16u);
  EXPECT_FALSE(symbol->is_function);
  uint8_t table[16];
  ASSERT_TRUE(report.Read({report.program()->base.value + symbol->offset}, table));
  EXPECT_EQ(table[0], 2);
  EXPECT_EQ(table[4], 2);
}

INSTANTIATE_TEST_SUITE_P(Builds, ReplayDataOf, testing::Values("-O0 -g", "-O2 -g", "-O2 -g -no-pie -fno-pie"));

// Nothing tells such a program from another one but its bytes.
TEST(ReplayData, HasTheCodeOfAProgramWithoutABuildId) {
  const Fixture fixture(kProgram, Monitored("-O2 -g") + " -Wl,--build-id=none");
  const Report report = fixture.Crash();
  const Result<Symbols> symbols = Symbols::Open(report, {});
  ASSERT_TRUE(symbols);
  const ReplayData made = MakeReplayData(MustRead(report, *symbols), *symbols);
  EXPECT_TRUE(Holds(made.images[0], made.frames[0].entry));
}

// Depth 1: what Step read and wrote through `counter` as it was on entry, before `count` changed.
TEST(RecordedFields, AreTheBytesOnEntry) {
  const Fixture fixture(kProgram, Monitored("-O2 -g", "full"));
  const Report report = fixture.Crash();
  const Backtrace backtrace = MustRead(report);
  const Frame& step = FrameOf(backtrace, "Step(");
  uint64_t counter = ValueOf(ParameterOf(step, "counter"));
  const auto field = std::ranges::find(step.fields, TargetAddress{counter + 4}, &ReplayField::address);
  ASSERT_NE(field, step.fields.end());
  EXPECT_EQ(field->bytes[0], 6);
  uint8_t now = 0;
  ASSERT_TRUE(report.Read({counter + 4}, {&now, 1}));
  EXPECT_EQ(now, 8);
}

// What a parameter points to may be one of an array; the variable tells.
TEST(ReplayData, HasVariablesOfTheStack) {
  for (const char* flags : {"-O0 -g", "-O2 -g"}) {
    const Fixture fixture(R"(
#include <array>
struct Order { long id; int* cell; };
struct Other { long words[4]; };
__attribute__((noinline)) long Read(Order* orders, Order* one) { return *orders[1].cell + one->id; }
__attribute__((noinline)) void Touch(void* any) { asm volatile("" : : "r"(any) : "memory"); }
int main(int argc, char**) {
  std::array<Order, 3> orders{};
  Order one{argc, nullptr};
  Other other{{1, 2, 3, 4}};
  Touch(&other);
  if (argc > 1) {
    Order hidden[7]{};
    Touch(hidden);
  }
  const long got = Read(orders.data(), &one);
  Touch(&other);
  return static_cast<int>(got);
}
)",
                          flags);
    const Report report = fixture.Crash();
    const Result<Symbols> symbols = Symbols::Open(report, {});
    ASSERT_TRUE(symbols);
    const Backtrace backtrace = MustRead(report, *symbols);
    const Frame& read = FrameOf(backtrace, "Read(");
    const ReplayData made = MakeReplayData(backtrace, *symbols);
    ASSERT_EQ(made.images.size(), 1u);
    std::map<uint64_t, uint64_t> counts;  // of orders, by address
    for (const StackVariable& variable : made.images[0].stack_variables) {
      EXPECT_EQ(made.images[0].types[variable.type].name, "Order");
      counts[variable.address] = variable.count;
    }
    const std::map<uint64_t, uint64_t> expected = {{ValueOf(ParameterOf(read, "orders")), 3},
                                                   {ValueOf(ParameterOf(read, "one")), 1}};
    EXPECT_EQ(counts, expected) << flags;
  }
}

// In another build something else lies where the local was.
TEST(ReplayData, NamesAnArgumentThatLeadsToADeadLocal) {
  for (const char* flags : {"-O0 -g", "-O1 -g"}) {
    const Fixture fixture(R"(
struct Entry { const long* better; long own; };
__attribute__((noinline)) void Improve(Entry* entry) {
  volatile long words[4] = {1, 2, 3, 4};
  entry->better = const_cast<const long*>(&words[entry->own]);
}
__attribute__((noinline)) long Use(Entry* entry, Entry* sound, int* place) { return *entry->better + sound->own + *place; }
int main(int argc, char**) {
  Entry entry{nullptr, argc}, sound{&entry.own, 2};
  Improve(&entry);
  return Use(&entry, &sound, argc > 5 ? &argc : nullptr);
}
)",
                          flags);
    const Report report = fixture.Crash();
    const Result<Symbols> symbols = Symbols::Open(report, {});
    ASSERT_TRUE(symbols);
    const Backtrace backtrace = MustRead(report, *symbols);
    const Frame& frame = FrameOf(backtrace, "Use(");
    EXPECT_TRUE(ParameterOf(frame, "entry").reaches_dead_stack) << flags;
    EXPECT_FALSE(ParameterOf(frame, "sound").reaches_dead_stack) << flags;
    EXPECT_FALSE(ParameterOf(frame, "place").reaches_dead_stack) << flags;
    EXPECT_EQ(MakeReplayFrame(frame).dangling, "entry");

    // The function may have put the pointer there itself.
    EntryState state;
    EXPECT_EQ(DanglingAtItsEntry(report, *symbols, frame, state), "entry") << flags;
    const uint64_t entry = ValueOf(ParameterOf(frame, "entry"));
    Region page{{entry & ~uint64_t{4095}}, std::vector<uint8_t>(4096)};
    ASSERT_TRUE(report.Read(page.address, page.bytes));
    std::fill_n(page.bytes.begin() + static_cast<ptrdiff_t>(entry % 4096), 8, 0);
    state.memory = EntryMemory({page});
    EXPECT_EQ(DanglingAtItsEntry(report, *symbols, frame, state), "") << flags;
  }
}

}  // namespace
}  // namespace recrash
