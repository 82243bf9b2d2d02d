// The table of additions by itself, with what happens between two steps of its reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/client/client.h"

namespace recrash::client {

// Of start_up.cc, which this program does not have.
State g_state;
signal_safe::Text SetAbsolute(char (&out)[1024], const char* path) { return signal_safe::Text(out) << path; }

namespace {

using testing::ElementsAre;
using testing::Pair;

class Table : public testing::Test {
 protected:
  Table() { g_state.additions = table_.get(); }
  ~Table() override { g_state.additions = nullptr; }

  // What a raw report would have; `amid` happens when the first note is put.
  std::map<std::string, std::string> Put(std::function<void()> amid = [] {}) {
    struct Reading {
      std::function<void()> amid;
      std::vector<abi::Addition> put;
    } reading{std::move(amid), {}};
    PutAdditions(
        [](void* out, raw::BlockKind kind, const void* bytes, uint64_t) {
          auto& to = *static_cast<Reading*>(out);
          if (kind != raw::BlockKind::kAddition) return;
          to.put.push_back(*static_cast<const abi::Addition*>(bytes));
          if (to.put.size() == 1) to.amid();
        },
        &reading);
    std::map<std::string, abi::Addition> newest;
    for (const abi::Addition& addition : reading.put) {
      abi::Addition& of_name = newest[addition.text];
      if (of_name.number < addition.number) of_name = addition;
    }
    std::map<std::string, std::string> notes;
    for (const auto& [name, addition] : newest) notes[name] = addition.text + name.size() + 1;
    return notes;
  }

  uint32_t used() const {
    return static_cast<uint32_t>(std::ranges::count_if(table_->states, [](uint64_t state) { return state != 0; }));
  }

  std::unique_ptr<abi::Additions> table_ = std::make_unique<abi::Additions>();
};

TEST_F(Table, HasOneSlotForEachName) {
  for (int i = 0; i < 1000; ++i) {
    __recrash_note("a", std::to_string(i).c_str());
    __recrash_note("b", "b");
  }
  EXPECT_EQ(used(), 2u);
  EXPECT_THAT(Put(), ElementsAre(Pair("a", "999"), Pair("b", "b")));
  __recrash_note("a", nullptr);
  EXPECT_THAT(Put(), ElementsAre(Pair("b", "b")));
  EXPECT_EQ(used(), 1u);
}

TEST_F(Table, TellsNamesApart) {
  __recrash_note("a", "1");
  __recrash_note("ab", "2");
  __recrash_file("/a", 1);
  __recrash_file("/a", 2);
  EXPECT_EQ(used(), 4u);
  __recrash_file("/a", 0);
  EXPECT_THAT(Put(), ElementsAre(Pair("a", "1"), Pair("ab", "2")));
}

// A writer that was interrupted for good holds its slot, and nothing else.
TEST_F(Table, BearsWritersThatNeverEnd) {
  __recrash_note("a", "1");
  table_->states[0] = abi::kUnfinishedSlot;
  __recrash_note("a", "2");
  EXPECT_THAT(Put(), ElementsAre(Pair("a", "2")));
  std::ranges::fill(table_->states, abi::kUnfinishedSlot);
  __recrash_note("b", "3");
  EXPECT_EQ(table_->lost[0], 1u);
}

// The third note moves to the first slot, which has been read already.
TEST_F(Table, IsReadThoughNotesMoveMeanwhile) {
  for (const char* name : {"a", "b", "c"}) __recrash_note(name, "old");
  const auto notes = Put([] {
    __recrash_note("a", nullptr);
    __recrash_note("c", "new");
  });
  EXPECT_EQ(notes.at("c"), "new");
}

}  // namespace
}  // namespace recrash::client
