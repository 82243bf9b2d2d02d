// The tables of a plan (plan.h) while they grow, and how they become a file.
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

// Arrays inside tables (a frame's words, a module's symbols) hold positions, and offsets into the bytes are relative to
// these, until Write knows where all of it lies.
class PlanTables {
 protected:
  struct Content {
    uint64_t place;  // of the run in runs_
    std::span<const uint8_t> bytes;
  };

  plan::Text AddText(const std::string& text);
  uint64_t AddBytes(std::span<const uint8_t> bytes);
  Result<PlanFile> Write();

  plan::Header header_{};
  std::string texts_ = std::string(1, '\0');
  std::vector<uint8_t> blob_;  // bytes of patches, fields and inputs; offsets into it until Write
  std::vector<plan::Module> modules_;
  std::vector<plan::Mapping> mappings_;
  std::vector<plan::Run> runs_;
  std::vector<Content> contents_;
  std::vector<plan::EntryState> entry_states_;
  std::vector<plan::Range> entry_mappings_;
  std::vector<plan::Run> entry_runs_;
  std::vector<Content> entry_contents_;
  std::vector<plan::OpenFile> entry_files_;
  std::vector<uint32_t> late_modules_;
  std::vector<plan::Patch> patches_;
  std::vector<plan::Patch> unlocks_;
  std::vector<plan::OpenFile> files_;
  std::vector<plan::Input> inputs_;
  std::vector<plan::InputName> input_names_;
  std::vector<plan::Frame> frames_;
  std::vector<plan::Word> words_;
  std::vector<plan::Patch> fields_;
  std::vector<plan::Stream> streams_;
  std::vector<plan::Symbol> symbols_;
  std::vector<plan::RuntimeSymbol> runtime_symbols_;

 private:
  template <typename T>
  plan::Array Reserve(const std::vector<T>& table);
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_TABLES_H_
