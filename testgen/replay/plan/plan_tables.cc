#include "testgen/replay/plan/plan_tables.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recrash {
namespace {

constexpr uint64_t kPage = plan::kPageSize;

template <typename T>
bool WriteTable(int descriptor, const std::vector<T>& table, const plan::Array& array) {
  return WriteAt(descriptor, table.data(), table.size() * sizeof(T), array.offset);
}

}  // namespace

plan::Text PlanTables::AddText(const std::string& text) {
  if (text.empty()) return 0;
  const auto offset = static_cast<plan::Text>(texts_.size());
  texts_.append(text.c_str());  // up to the first NUL
  texts_.push_back('\0');
  return offset;
}

uint64_t PlanTables::AddBytes(std::span<const uint8_t> bytes) {
  const uint64_t offset = blob_.size();
  blob_.insert(blob_.end(), bytes.begin(), bytes.end());
  blob_.resize((blob_.size() + 7) & ~size_t{7});
  return offset;
}

template <typename T>
plan::Array PlanTables::Reserve(const std::vector<T>& table) {
  const plan::Array array{header_.size, table.size()};
  header_.size = (header_.size + table.size() * sizeof(T) + 15) & ~uint64_t{15};
  return array;
}

Result<PlanFile> PlanTables::Write() {
  header_.size = (sizeof header_ + 15) & ~uint64_t{15};
  header_.modules = Reserve(modules_);
  header_.mappings = Reserve(mappings_);
  header_.runs = Reserve(runs_);
  const plan::Array entry_states = Reserve(entry_states_);
  const plan::Array entry_mappings = Reserve(entry_mappings_);
  const plan::Array entry_runs = Reserve(entry_runs_);
  const plan::Array entry_files = Reserve(entry_files_);
  const plan::Array late_modules = Reserve(late_modules_);
  header_.patches = Reserve(patches_);
  header_.unlocks = Reserve(unlocks_);
  header_.files = Reserve(files_);
  header_.inputs = Reserve(inputs_);
  header_.input_names = Reserve(input_names_);
  header_.frames = Reserve(frames_);
  const plan::Array words = Reserve(words_);
  const plan::Array fields = Reserve(fields_);
  const plan::Array streams = Reserve(streams_);
  const plan::Array symbols = Reserve(symbols_);
  header_.runtime_symbols = Reserve(runtime_symbols_);
  const plan::Array blob = Reserve(blob_);
  header_.text = Reserve(std::vector<char>(texts_.begin(), texts_.end()));
  for (plan::Frame& frame : frames_) {
    frame.words.offset = words.offset + frame.words.offset * sizeof(plan::Word);
    frame.fields.offset = fields.offset + frame.fields.offset * sizeof(plan::Patch);
    frame.streams.offset = streams.offset + frame.streams.offset * sizeof(plan::Stream);
    frame.entry_state.offset = entry_states.offset + frame.entry_state.offset * sizeof(plan::EntryState);
  }
  for (plan::EntryState& state : entry_states_) {
    state.mappings.offset = entry_mappings.offset + state.mappings.offset * sizeof(plan::Range);
    state.runs.offset = entry_runs.offset + state.runs.offset * sizeof(plan::Run);
    state.files.offset = entry_files.offset + state.files.offset * sizeof(plan::OpenFile);
    state.late.offset = late_modules.offset + state.late.offset * sizeof(uint32_t);
  }
  for (plan::Module& module : modules_) {
    module.symbols.offset = symbols.offset + module.symbols.offset * sizeof(plan::Symbol);
  }
  for (plan::Patch& patch : patches_) patch.offset += blob.offset;
  for (plan::Patch& unlock : unlocks_) unlock.offset += blob.offset;
  for (plan::Patch& field : fields_) field.offset += blob.offset;
  for (plan::Input& input : inputs_) input.offset += blob.offset;
  uint64_t at = (header_.size + kPage - 1) & ~(kPage - 1);
  for (std::vector<plan::Run>* runs : {&runs_, &entry_runs_}) {
    for (plan::Run& run : *runs) {
      run.offset = at;
      at += (run.size + kPage - 1) & ~(kPage - 1);
    }
  }
  header_.size = at;

  const int descriptor = MoveHigh(memfd_create("recrash-plan", 0));
  PlanFile file(descriptor);
  bool written =
      descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(header_.size)) == 0 &&
      WriteAt(descriptor, &header_, sizeof header_, 0) && WriteTable(descriptor, modules_, header_.modules) &&
      WriteTable(descriptor, mappings_, header_.mappings) && WriteTable(descriptor, runs_, header_.runs) &&
      WriteTable(descriptor, entry_states_, entry_states) && WriteTable(descriptor, entry_mappings_, entry_mappings) &&
      WriteTable(descriptor, entry_runs_, entry_runs) && WriteTable(descriptor, entry_files_, entry_files) &&
      WriteTable(descriptor, late_modules_, late_modules) && WriteTable(descriptor, unlocks_, header_.unlocks) &&
      WriteTable(descriptor, patches_, header_.patches) && WriteTable(descriptor, files_, header_.files) &&
      WriteTable(descriptor, inputs_, header_.inputs) && WriteTable(descriptor, input_names_, header_.input_names) &&
      WriteTable(descriptor, frames_, header_.frames) && WriteTable(descriptor, words_, words) &&
      WriteTable(descriptor, fields_, fields) && WriteTable(descriptor, streams_, streams) &&
      WriteTable(descriptor, symbols_, symbols) && WriteTable(descriptor, runtime_symbols_, header_.runtime_symbols) &&
      WriteTable(descriptor, blob_, blob) && WriteAt(descriptor, texts_.data(), texts_.size(), header_.text.offset);
  for (const Content& content : contents_) {
    written = written && WriteAt(descriptor, content.bytes.data(), content.bytes.size(), runs_[content.place].offset);
  }
  for (const Content& content : entry_contents_) {
    const plan::Run& run = entry_runs_[content.place];
    written = written && WriteAt(descriptor, content.bytes.data(), content.bytes.size(), run.offset);
  }
  if (!written) {
    return Error{Errc::kRefused, "cannot write " + std::to_string(header_.size >> 20) +
                                     " MiB into an anonymous file: " + strerror(errno)};
  }
  return file;
}

}  // namespace recrash
