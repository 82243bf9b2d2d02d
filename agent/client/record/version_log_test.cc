// The version log against a model that simply keeps every snapshot whole.
#include "agent/client/record/version_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace recrash::record {
namespace {

constexpr uint64_t kThread = 7;
constexpr uint64_t kFirstPage = 0x7f0000000000;

using Bytes = std::vector<uint8_t>;
using State = std::map<uint64_t, Bytes>;  // pages that are there

class Log {
 public:
  explicit Log(uint64_t memory) : bytes_(new uint8_t[VersionLog::SizeFor(memory)]()), log_() {
    log_.Begin(bytes_.get(), memory);
  }

  VersionLog& operator*() { return log_; }
  VersionLog* operator->() { return &log_; }

  // What a page holds at a snapshot, found as a collector finds it; empty: nothing.
  Bytes At(uint64_t page, uint64_t number) const {
    const LogHeader& header = log_.header();
    const auto* pages = reinterpret_cast<const LogPage*>(bytes_.get() + header.pages);
    const auto* versions = reinterpret_cast<const LogVersion*>(bytes_.get() + header.versions);
    for (uint32_t slot = 0; slot < header.page_slots; ++slot) {
      if (pages[slot].address != page) continue;
      for (uint32_t version = pages[slot].newest; version != 0; version = versions[version].older) {
        if (versions[version].number > number) continue;
        if (versions[version].absent != 0) return {};
        const uint8_t* content = bytes_.get() + header.contents + uint64_t{version} * kPage;
        return Bytes(content, content + kPage);
      }
    }
    return {};
  }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  VersionLog log_;
};

LogFrame FrameAt(uint64_t number, uint64_t sp, uint64_t thread = kThread) {
  LogFrame frame = {};
  frame.number = number;
  frame.thread = thread;
  frame.registers.sp = sp;
  return frame;
}

Bytes Filled(uint8_t with) { return Bytes(kPage, with); }

// Calls and returns at random, between them pages that are written, given back and written again with the same.
class Model {
 public:
  Model(Log* log, uint32_t seed) : log_(*log), random_(seed) {}

  void Step() {
    for (uint64_t i = Random(6); i > 0; --i) Change();
    if (Random(3) == 0 && !live_.empty()) sp_ += 16 * (1 + Random(live_.size()));
    Enter();
  }

  void ExpectAllFrames() const {
    for (const auto& [number, state] : live_) {
      for (uint64_t page = 0; page < kPages; ++page) {
        const uint64_t address = kFirstPage + page * kPage;
        const auto found = state.find(address);
        ASSERT_EQ(log_.At(address, number), found == state.end() ? Bytes() : found->second)
            << "page " << page << " at snapshot " << number;
      }
    }
  }
  size_t skipped() const { return skipped_; }

 private:
  static constexpr uint64_t kPages = 40;

  uint64_t Random(uint64_t below) { return random_() % below; }

  void Change() {
    const uint64_t page = kFirstPage + Random(kPages) * kPage;
    written_.insert_or_assign(page, true);
    if (Random(5) == 0)
      now_.erase(page);
    else
      now_[page] = Filled(static_cast<uint8_t>(Random(3)));
  }

  // A snapshot may be broken off where there is no room: it is none then, and what it did copy stays.
  void Enter() {
    sp_ -= 16;
    log_->DropReturned({kThread, sp_, 0});
    std::erase_if(live_, [&](const auto& frame) { return sp_of_[frame.first] <= sp_; });
    const uint64_t number = ++number_;
    while (!written_.empty()) {
      if (log_->Room(1) == 0) {
        ++skipped_;
        sp_ += 16;
        return;
      }
      const uint64_t page = written_.begin()->first;
      ASSERT_TRUE(log_->Save(page, number, now_.contains(page) ? now_[page].data() : nullptr));
      written_.erase(page);
    }
    log_->Add(FrameAt(number, sp_));
    sp_of_[number] = sp_;
    live_[number] = now_;
  }

  Log& log_;
  std::mt19937_64 random_;
  State now_;
  std::map<uint64_t, bool> written_;
  std::map<uint64_t, State> live_;  // by number
  std::map<uint64_t, uint64_t> sp_of_;
  uint64_t sp_ = 0x7ffe00000000;
  uint64_t number_ = 0;
  size_t skipped_ = 0;
};

TEST(VersionLog, HoldsTheStateOfEachLiveFrame) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Log log(1 << 20);
    Model model(&log, seed);
    for (int i = 0; i < 400; ++i) model.Step();
    model.ExpectAllFrames();
    EXPECT_EQ(model.skipped(), 0u);
    EXPECT_LT(log->header().figures.most_versions, 256u);
  }
}

// Room for 64 pages: snapshots are left out, and those that are there are right.
TEST(VersionLog, IsRightWhereThereIsLittleRoom) {
  size_t skipped = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Log log(64 * kPage);
    Model model(&log, seed);
    for (int i = 0; i < 400; ++i) {
      model.Step();
      ASSERT_LE(log->header().figures.most_versions, 64u);
    }
    model.ExpectAllFrames();
    skipped += model.skipped();
  }
  EXPECT_GT(skipped, 0u);
}

TEST(VersionLog, KeepsOneVersionOfWhatNobodyNeeds) {
  Log log(1 << 20);
  for (uint64_t number = 1; number <= 1000; ++number) {
    log->DropReturned({kThread, 100, 0});
    ASSERT_TRUE(log->Save(kFirstPage, number, Filled(static_cast<uint8_t>(number)).data()));
    log->Add(FrameAt(number, 100));
  }
  EXPECT_EQ(log->header().frame_count, 1u);
  EXPECT_LE(log->header().figures.most_versions, 2u);
  EXPECT_EQ(log.At(kFirstPage, 1000), Filled(static_cast<uint8_t>(1000)));
}

TEST(VersionLog, KeepsNothingTwice) {
  Log log(1 << 20);
  for (uint64_t number = 1; number <= 5; ++number) {
    ASSERT_TRUE(log->Save(kFirstPage, number, Filled(9).data()));
    log->Add(FrameAt(number, 1000 - number));
  }
  EXPECT_EQ(log->header().figures.most_versions, 1u);
  EXPECT_EQ(log.At(kFirstPage, 3), Filled(9));
}

// A handler's stack, or another thread's, says nothing of frames elsewhere.
TEST(VersionLog, DropsFramesOfTheSameStackAlone) {
  Log log(1 << 20);
  log->Add(FrameAt(1, 0x7f0000001000));
  log->Add(FrameAt(2, 0x7f0000000f00));
  log->Add(FrameAt(3, 0x7f0000000e00, kThread + 1));
  log->DropReturned({kThread, 0x7fff00000000, 0});
  EXPECT_EQ(log->header().frame_count, 3u) << "another stack";
  log->DropReturned({kThread, 0x7f0000000f80, 0});
  ASSERT_EQ(log->header().frame_count, 2u);
  EXPECT_EQ(log->frames()[0].number, 1u);
  EXPECT_EQ(log->frames()[1].number, 3u);
}

TEST(VersionLog, SaysWhenItsTableIsFull) {
  Log log(64 * kPage);
  uint64_t saved = 0;
  while (saved < 10000 && log->Save(kFirstPage + saved * kPage, 1, nullptr)) ++saved;
  EXPECT_GT(saved, 800u);
  EXPECT_LT(saved, 1024u);
}

}  // namespace
}  // namespace recrash::record
