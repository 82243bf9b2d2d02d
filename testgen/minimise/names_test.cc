// Words of an invented process, and what people call them.
#include "testgen/minimise/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "testgen/carry/testing_types.h"
#include "testgen/replay/plan/fill.h"

namespace recrash {
namespace {

constexpr uint64_t kMemory = 0x10000;

class Names : public testing::Test {
 protected:
  template <typename T>
  void Write(uint64_t address, const T& value) {
    std::memcpy(bytes_.data() + (address - kMemory), &value, sizeof value);
  }
  void Pass(const std::string& name, uint32_t type, uint64_t value, uint16_t size = 8) {
    const auto number = static_cast<uint8_t>(frame_.parameters.size() + 1);
    frame_.parameters.push_back({number, name, type, false});
    ReplayWord word;
    word.parameter = number;
    word.location = static_cast<abi::Location>(number - 1);
    word.size = size;
    std::memcpy(word.bytes.data(), &value, sizeof value);
    frame_.words.push_back(word);
  }
  void PassPointer(const std::string& name, uint32_t target, uint64_t address) {
    Pass(name, types_.PointerTo(target), address);
  }
  // "path = value"; empty: no name is known.
  std::string Of(uint64_t word, uint8_t mask = 0xff) {
    TestReport report;
    report.modules.push_back({"/app", "", {0x400000}, 0x1000, 0, true});
    report.mappings = {{{kMemory}, {kMemory + 4096}, kMapRead | kMapWrite, 0, ""}};
    report.memory = {{{kMemory}, bytes_}};
    report.replay.images.resize(1);
    report.replay.images[0].base = {0x400000};
    report.replay.images[0].types = types_.all();
    report.replay.images[0].variables = variables_;
    frame_.entry = {0x400100};
    frame_.entry_sp = {0x7000ff8};
    report.replay.frames = {frame_};
    const StartMemory memory(report, report.replay.frames[0]);
    WordNames names(report, report.replay.frames[0], memory);
    names.Find({{word, mask}}, [](uint64_t address) { return address / 0x100 * 0x100; });
    const NamedWord& named = names.at(word);
    return named.path.empty() ? "" : named.path + " = " + named.value;
  }

  TestingTypes types_;
  std::vector<Variable> variables_;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(4096);
  ReplayFrame frame_;
};

TEST_F(Names, OfArguments) {
  Pass("count", types_.Int(), 7, 4);
  PassPointer("next", types_.Int(), 0);
  EXPECT_EQ(Of(plan::RegisterAddress(0)), "count = 7");
  EXPECT_EQ(Of(plan::RegisterAddress(1)), "next = nullptr");
}

// The first word names its members alone, with values of all words.
TEST_F(Names, OfAClassOnTheStack) {
  const uint32_t three =
      types_.Class("Three", 24, {{"a", 0, types_.Long()}, {"b", 8, types_.Long()}, {"c", 16, types_.Long()}});
  frame_.parameters.push_back({1, "three", three, false});
  for (uint8_t i = 0; i < 3; ++i) {
    ReplayWord word;
    word.parameter = 1;
    word.location = abi::Location::kStack;
    word.stack_offset = word.source_offset = static_cast<uint16_t>(8 * i);
    word.size = 8;
    word.bytes[0] = static_cast<uint8_t>(5 + i);
    frame_.words.push_back(word);
  }
  EXPECT_EQ(Of(0x7001000), "three.a = 5");
  EXPECT_EQ(Of(0x7001010), "three.c = 7");
}

TEST_F(Names, OfMembersBehindPointers) {
  const uint32_t inner =
      types_.Class("Inner", 16, {{"a", 0, types_.Long()}, {"cells", 8, types_.ArrayOf(types_.Int(), 2)}});
  const uint32_t outer = types_.Class("Outer", 16, {{"flag", 0, types_.Int()}, {"inner", 8, types_.PointerTo(inner)}});
  Write<int32_t>(kMemory, -1);
  Write<uint64_t>(kMemory + 8, kMemory + 0x100);
  Write<uint64_t>(kMemory + 0x108, uint64_t{5} << 32 | 4);
  PassPointer("outer", outer, kMemory);
  EXPECT_EQ(Of(kMemory, 0x0f), "outer->flag = -1");
  EXPECT_EQ(Of(kMemory + 8), "outer->inner = 0x10100");
  EXPECT_EQ(Of(kMemory + 0x108), "outer->inner->cells[0], outer->inner->cells[1] = 4, 5");
  EXPECT_EQ(Of(kMemory + 0x108, 0xf0), "outer->inner->cells[1] = 5");
  EXPECT_EQ(Of(kMemory + 0x200), "");
}

// In one block with the first.
TEST_F(Names, OfElementsBehindAPointer) {
  const uint32_t cell = types_.Class("Cell", 16, {{"kind", 0, types_.Long()}, {"number", 8, types_.Long()}});
  Write<uint64_t>(kMemory + 0x38, 9);
  PassPointer("cells", cell, kMemory);
  EXPECT_EQ(Of(kMemory + 0x38), "cells[3].number = 9");
  EXPECT_EQ(Of(kMemory + 0x138), "");
}

TEST_F(Names, OfTextsAndElementsOfVectors) {
  const uint32_t word = types_.Long();
  const uint32_t text = types_.Class("std::string", 32, {{"_M_p", 0, word}, {"_M_string_length", 8, word}});
  const uint32_t pointer = types_.PointerTo(text);
  const uint32_t vector = types_.Class("std::vector<std::string>", 24,
                                       {{"_M_start", 0, pointer}, {"_M_finish", 8, pointer}, {"_M_end", 16, pointer}});
  types_[vector].arguments = {text};
  const uint32_t order = types_.Class("Order", 24, {{"lines_", 0, vector}});
  Write<uint64_t>(kMemory, kMemory + 0x100);
  Write<uint64_t>(kMemory + 8, kMemory + 0x140);
  Write<uint64_t>(kMemory + 0x120, kMemory + 0x200);
  Write<uint64_t>(kMemory + 0x128, 3);
  std::memcpy(&bytes_[0x200], "B-7", 4);
  PassPointer("order", order, kMemory);
  EXPECT_EQ(Of(kMemory + 0x200), "order->lines_[1] = \"B-7\"");
  EXPECT_EQ(Of(kMemory + 0x128), "order->lines_[1].size() = 3");
  EXPECT_EQ(Of(kMemory), "order->lines_.start = 0x10100");
}

TEST_F(Names, OfGlobals) {
  variables_ = {{"ns::settings", kMemory + 0x40 - 0x400000, types_.Class("Settings", 8, {{"size", 0, types_.Long()}})}};
  Write<uint64_t>(kMemory + 0x40, 100);
  EXPECT_EQ(Of(kMemory + 0x40), "ns::settings.size = 100");
}

// The shortest way names it, and a ring has an end.
TEST_F(Names, OfARing) {
  const uint32_t node = types_.Class("Node", 16, {{"value", 0, types_.Long()}, {"next", 8, 0}});
  types_[node].members[1].type = types_.PointerTo(node);
  Write<uint64_t>(kMemory + 8, kMemory + 0x100);
  Write<uint64_t>(kMemory + 0x108, kMemory);
  PassPointer("node", node, kMemory);
  EXPECT_EQ(Of(kMemory + 0x108), "node->next->next = 0x10000");
  EXPECT_EQ(Of(kMemory + 0x208), "");
}

TEST_F(Names, OfWildMemoryComeToAnEnd) {
  const uint32_t pointer = types_.PointerTo(types_.Int());
  const uint32_t vector = types_.Class("std::vector<int>", 24,
                                       {{"_M_start", 0, pointer}, {"_M_finish", 8, pointer}, {"_M_end", 16, pointer}});
  types_[vector].arguments = {types_.Int()};
  Write<uint64_t>(kMemory, 16);
  Write<uint64_t>(kMemory + 8, 0xfffffffffffffff0);
  PassPointer("numbers", vector, kMemory);
  EXPECT_EQ(Of(kMemory + 0x800), "");
  EXPECT_EQ(Of(kMemory + 8), "numbers->finish = 0xfffffffffffffff0");
}

TEST(ScalarTexts, SayWhatPeopleWouldWrite) {
  TestingTypes types;
  const uint32_t colour = types.Enum("Colour", {"kRed", "kGreen"});
  const std::vector<uint8_t> one = {1, 0, 0, 0};
  EXPECT_EQ(ScalarText(types[colour], one), "kGreen");
  EXPECT_EQ(ScalarText(types[types.Number("bool", 1, false)], std::vector<uint8_t>{1}), "true");
  EXPECT_EQ(ScalarText(types[types.Number("char", 1)], std::vector<uint8_t>{'x'}), "'x'");
  EXPECT_EQ(ScalarText(types[types.Number("unsigned", 4, false)], std::vector<uint8_t>{255, 255, 255, 255}),
            "4294967295");
  EXPECT_EQ(ScalarText(types[types.Number("float", 4, true, TypeForm::kFloat)], std::vector<uint8_t>{0, 0, 0x20, 0x40}),
            "2.5");
}

}  // namespace
}  // namespace recrash
