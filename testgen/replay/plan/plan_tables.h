// The parts of a plan (plan.h) while they grow, and how they become a file.
//
// The file is: the header and all tables, then, page-aligned, the contents of runs. A table inside another (a frame's
// words, a module's symbols) and bytes of any size get their place at once. The tables that the header names grow as
// vectors until Write.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PLAN_TABLES_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PLAN_TABLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/replay/plan/plan_file.h"

namespace recrash {

class PlanTables {
 protected:
  plan::Text AddText(const std::string& text);
  // Returns their offset in the plan.
  uint64_t AddBytes(std::span<const uint8_t> bytes);
  template <typename T>
  plan::Array AddTable(const std::vector<T>& table) {
    return {AddBytes({reinterpret_cast<const uint8_t*>(table.data()), table.size() * sizeof(T)}), table.size()};
  }
  // Adds the contents of a run. Returns plan::Run::offset. REQUIRES: `bytes` live until Write.
  uint64_t AddContent(std::span<const uint8_t> bytes);
  Result<Fd> Write();

  plan::Header header_{};
  std::vector<plan::Module> modules_;
  std::vector<plan::Mapping> mappings_;
  std::vector<plan::Run> runs_;
  std::vector<plan::Range> absent_;
  std::vector<plan::Patch> patches_;
  std::vector<plan::Patch> unlocks_;
  std::vector<plan::OpenFile> files_;
  std::vector<plan::Input> inputs_;
  std::vector<plan::InputName> input_names_;
  std::vector<plan::Frame> frames_;
  std::vector<plan::RuntimeSymbol> runtime_symbols_;
  std::vector<plan::Shape> shapes_ = std::vector<plan::Shape>(1);

 private:
  struct Content {
    uint64_t offset;  // from the first
    std::span<const uint8_t> bytes;
  };

  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(sizeof(plan::Header));  // up to the contents
  std::vector<char> texts_ = {'\0'};
  std::vector<Content> contents_;
  uint64_t contents_size_ = 0;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_TABLES_H_
