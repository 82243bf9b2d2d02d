#include "testgen/suite/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace recrash {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kStackAt = 0x7ffe00000000;
constexpr uint64_t kSize = 0x5000;

std::string At(const Report& report, uint64_t address, size_t size) {
  std::string text(size, '?');
  return report.Read({address}, {reinterpret_cast<uint8_t*>(text.data()), size}) ? text : "not there";
}

class Holdings : public testing::Test {
 protected:
  Holdings() {
    report_.process.arguments = {"server", "--port"};
    report_.mappings = {{{kStackAt}, {kStackAt + kSize}, kMapRead | kMapWrite, 0, "[stack]"}};
    report_.memory = {{{kStackAt}, std::vector<uint8_t>(kSize)}};
    Put(100, "in a frame: ada@example.com");
    std::string top("server\0--port\0USER=ada\0LONG=", 28);
    top += std::string(0x2800, 'x') + '\0' + "TOKEN=hunter2!" + '\0' + "./server";
    Put(environment_ - 15, top);
    Input input;
    input.names = {"in.txt"};
    input.size = 3;
    input.bytes = {'a', 'b', 'c'};
    input.content = InputContent::kHeld;
    report_.inputs = {input};
  }
  void Put(uint64_t offset, const std::string& text) {
    std::memcpy(&report_.memory[0].bytes[offset], text.data(), text.size());
  }

  TestReport report_;
  uint64_t environment_ = kSize - 0x2800 - 64;  // where its block begins
};

TEST_F(Holdings, AreListed) {
  EXPECT_THAT(EnvironmentIn(report_), ElementsAre("USER=ada", "LONG=" + std::string(0x2800, 'x'), "TOKEN=hunter2!"));
  const std::vector<HeldText> texts = TextsIn(report_);
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts.front().address.value, kStackAt + 100);
  EXPECT_EQ(texts.front().text, "in a frame: ada@example.com");
}

TEST_F(Holdings, OfTheEnvironmentAreMasked) {
  const Redacted redacted = Redact({.environment = true, .files = false, .texts = {}}, &report_);
  EXPECT_EQ(redacted.variables, 3u);
  EXPECT_EQ(redacted.withheld, 0u) << "the stack has to stay mapped";
  EXPECT_EQ(At(report_, kStackAt + environment_, 8), "********");
  EXPECT_EQ(At(report_, kStackAt + 100, 10), "in a frame");
  EXPECT_EQ(TextsIn(report_).back().text, "./server");
  EXPECT_THAT(report_.losses, Contains(HasSubstr("3 variables of the environment")));
}

TEST_F(Holdings, ThatFillPagesAreWithheld) {
  constexpr uint64_t kHeap = 0x10000000;
  report_.mappings.insert(report_.mappings.begin(), {{kHeap}, {kHeap + 0x3000}, kMapRead | kMapWrite, 0, "[heap]"});
  report_.memory.insert(report_.memory.begin(), {{kHeap}, std::vector<uint8_t>(0x3000)});
  std::memset(&report_.memory[0].bytes[0x800], 'y', 0x2000);
  EXPECT_EQ(Redact({.environment = false, .files = false, .texts = {"yyy"}}, &report_).withheld, 0x1000u);
  EXPECT_EQ(At(report_, kHeap + 0x1000, 1), "not there");
  EXPECT_EQ(At(report_, kHeap + 0x800, 3), "***") << "in a page that has more";
}

TEST_F(Holdings, OfFilesAreDroppedAndTheirNamesStay) {
  EXPECT_EQ(Redact({.environment = false, .files = true, .texts = {}}, &report_).files, 1u);
  EXPECT_FALSE(report_.inputs[0].held());
  EXPECT_TRUE(report_.inputs[0].bytes.empty());
  EXPECT_THAT(report_.inputs[0].names, ElementsAre("in.txt"));
}

TEST_F(Holdings, ThatHaveATextInThemAreMaskedWhole) {
  report_.failure.reason = "no such user: ada@example.com";
  report_.replay.entry_states.emplace_back().memory = EntryMemory(report_.memory);
  Redact({.environment = false, .files = false, .texts = {"@example"}}, &report_);
  EXPECT_EQ(At(report_, kStackAt + 100, 27), std::string(27, '*'));
  EXPECT_EQ(report_.replay.entry_states[0].memory.own()[0].bytes[100], '*');
  EXPECT_EQ(report_.failure.reason, std::string(29, '*'));
}

TEST_F(Holdings, OfLogsAndNotesAreDropped) {
  report_.logs = {{LogKind::kNamed, "/var/log/app", 9, {'a', 'b', 'c'}}};
  report_.notes = {{"user", "ada", false}};
  const Redacted redacted = Redact({.logs = true, .notes = true, .texts = {}}, &report_);
  EXPECT_EQ(redacted.logs, 1u);
  EXPECT_EQ(redacted.notes, 1u);
  EXPECT_TRUE(report_.logs[0].tail.empty());
  EXPECT_TRUE(report_.notes.empty());
}

TEST_F(Holdings, InLogsAndNotesAreMaskedByTheirText) {
  const std::string log = "first line\nlogin of ada@example.com\n";
  report_.logs = {{LogKind::kNamed, "/var/log/app", 99, {log.begin(), log.end()}}};
  report_.notes = {{"user", "ada@example.com", false}, {"level", "2", false}};
  Redact({.texts = {"@example"}}, &report_);
  EXPECT_EQ(std::string(report_.logs[0].tail.begin(), report_.logs[0].tail.end()),
            "first line\n" + std::string(24, '*') + "\n");
  EXPECT_EQ(report_.notes[0].value, std::string(15, '*'));
  EXPECT_EQ(report_.notes[1].value, "2");
}

}  // namespace
}  // namespace recrash
