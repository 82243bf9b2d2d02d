#include "testgen/literals/find_literals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "testgen/carry/testing_types.h"

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kMemory = 0x10000;  // mapped and writable, on no heap
constexpr uint64_t kEntrySp = 0x7000ff8;

// A process with one frame, and a page of memory.
class FoundLiterals : public ::testing::Test {
 protected:
  uint32_t Vector(uint32_t element) {
    const uint32_t pointer = types_.PointerTo(element);
    const uint32_t vector =
        types_.Class("std::vector<" + types_[element].name + ">", 24,
                     {{"_M_start", 0, pointer}, {"_M_finish", 8, pointer}, {"_M_end", 16, pointer}});
    types_[vector].arguments = {element};
    return vector;
  }
  uint32_t String() {
    const uint32_t word = types_.Long();
    return types_.Class("std::string", 32, {{"_M_p", 0, word}, {"_M_string_length", 8, word}});
  }

  template <typename T>
  void Write(uint64_t address, const T& value) {
    std::memcpy(bytes_.data() + (address - kMemory), &value, sizeof value);
  }
  void WriteString(uint64_t address, const std::string& text) {
    Write(address, address + 16);
    Write<uint64_t>(address + 8, text.size());
    std::memcpy(bytes_.data() + (address + 16 - kMemory), text.c_str(), text.size() + 1);
  }
  template <typename T>
  void WriteVector(uint64_t address, uint64_t storage, const std::vector<T>& items) {
    Write(address, storage);
    Write(address + 8, storage + items.size() * sizeof(T));
    Write(address + 16, storage + items.size() * sizeof(T));
    for (size_t i = 0; i < items.size(); ++i) Write(storage + i * sizeof(T), items[i]);
  }

  // The next parameter: a pointer to an object of the type, or its value.
  void Pass(const std::string& name, uint32_t type, uint64_t value, uint16_t size = 8) {
    const auto number = static_cast<uint8_t>(frame_.parameters.size() + 1);
    frame_.parameters.push_back({number, name, type, false});
    ReplayWord word;
    word.parameter = number;
    word.size = size;
    std::memcpy(word.bytes.data(), &value, sizeof value);
    frame_.words.push_back(word);
  }
  void PassPointer(const std::string& name, uint32_t target, uint64_t address) {
    Pass(name, types_.PointerTo(target), address);
  }

  // Path and value of each literal.
  std::vector<std::pair<std::string, std::string>> Find() {
    TestReport report;
    report.modules.push_back({"/app", "", {0x400000}, 0x1000, 0, true});
    report.mappings = {{{kMemory}, {kMemory + 4096}, kMapRead | kMapWrite, 0, ""}};
    report.memory = {{{kMemory}, bytes_}};
    report.replay.images.resize(1);
    report.replay.images[0].base = {0x400000};
    report.replay.images[0].types = types_.all();
    frame_.index = 1;
    frame_.entry = {0x400100};
    frame_.entry_sp = {kEntrySp};
    report.replay.frames = {frame_};
    std::vector<std::pair<std::string, std::string>> found;
    is_whole_ = true;
    const Literals all = FindLiterals(&report);
    for (const Literal& literal : all.at(1)) {
      found.emplace_back(literal.path, EncodeValue(literal.value));
      is_whole_ = is_whole_ && literal.is_whole;
    }
    EXPECT_EQ(report.replay.frames[0].literals.size(), found.size());
    return found;
  }

  TestingTypes types_;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(4096);
  ReplayFrame frame_;
  bool is_whole_ = false;
};

TEST_F(FoundLiterals, AreMembersOfASmallObject) {
  const uint32_t names = Vector(types_.Int());
  const uint32_t order =
      types_.Class("Order", 64, {{"level_", 0, types_.Int()}, {"amounts_", 8, names}, {"label_", 32, String()}});
  Write<int32_t>(kMemory, -3);
  WriteVector<int32_t>(kMemory + 8, kMemory + 0x200, {7, 8});
  WriteString(kMemory + 32, "mail");
  PassPointer("this", order, kMemory);
  EXPECT_THAT(Find(), ElementsAre(Pair("self->level_", "n-3"), Pair("self->amounts_", "[n7,n8]"),
                                  Pair("self->label_", "t6d61696c")));
  EXPECT_TRUE(is_whole_);
}

TEST_F(FoundLiterals, AreThoseOfThePartsThatCanBeWritten) {
  const uint32_t node =
      types_.Class("Node", 16, {{"next", 0, types_.PointerTo(types_.Int())}, {"id", 8, types_.Int()}});
  Write<uint64_t>(kMemory, 0x1234);
  Write<int32_t>(kMemory + 8, 5);
  PassPointer("node", node, kMemory);
  EXPECT_THAT(Find(), ElementsAre(Pair("node->id", "n5")));
  EXPECT_FALSE(is_whole_);
}

TEST_F(FoundLiterals, AreOfTheCallItself) {
  const uint32_t colour = types_.Enum("Colour", {"kRed", "kGreen"});
  const uint32_t small = types_.Class("Small", 8, {{"colour", 0, colour}, {"count", 4, types_.Int()}});
  Pass("small", small, uint64_t{9} << 32 | 1);
  EXPECT_THAT(Find(), ElementsAre(Pair("small.colour", "t6b477265656e"), Pair("small.count", "n9")));
}

// The first has it: two statements on one object would contradict each other once one is edited.
TEST_F(FoundLiterals, AreNotWrittenTwice) {
  const uint32_t pair = types_.Class("Two", 8, {{"a", 0, types_.Int()}, {"b", 4, types_.Int()}});
  PassPointer("first", pair, kMemory);
  PassPointer("again", pair, kMemory);
  PassPointer("inside", types_.Int(), kMemory + 4);
  PassPointer("beside", types_.Int(), kMemory + 8);
  EXPECT_THAT(Find(), ElementsAre(Pair("first->a", "n0"), Pair("first->b", "n0"), Pair("*beside", "n0")));
}

TEST_F(FoundLiterals, AreNotOfWhatIsDamagedOrLong) {
  const uint32_t numbers = Vector(types_.Int());
  WriteVector<int32_t>(kMemory, kMemory + 0x200, std::vector<int32_t>(17));
  Write<uint64_t>(kMemory + 0x40, kMemory + 0x300);  // a vector whose end lies before its start
  Write<uint64_t>(kMemory + 0x48, kMemory + 0x200);
  WriteString(kMemory + 0x80, std::string(121, 'x'));
  PassPointer("longer", numbers, kMemory);
  PassPointer("broken", numbers, kMemory + 0x40);
  PassPointer("text", String(), kMemory + 0x80);
  PassPointer("nowhere", numbers, 0x99000);
  PassPointer("null", numbers, 0);
  EXPECT_THAT(Find(), IsEmpty());
}

// Depth 1 puts these bytes back before the call.
TEST_F(FoundLiterals, AreThoseOfTheStart) {
  Write<int32_t>(kMemory, 1);
  PassPointer("count", types_.Int(), kMemory);
  frame_.fields = {{{kMemory}, {2, 0, 0, 0}, 1}};
  EXPECT_THAT(Find(), ElementsAre(Pair("*count", "n1")));
  frame_.start.depth = 1;
  EXPECT_THAT(Find(), ElementsAre(Pair("*count", "n2")));
}

}  // namespace
}  // namespace recrash
