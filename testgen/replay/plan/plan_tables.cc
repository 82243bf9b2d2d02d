#include "testgen/replay/plan/plan_tables.h"

#include <errno.h>
#include <string.h>

namespace recrash {
namespace {

constexpr size_t kAlignment = 16;

uint64_t RoundUp(uint64_t size) { return (size + plan::kPageSize - 1) & ~(plan::kPageSize - 1); }

}  // namespace

plan::Text PlanTables::AddText(const std::string& text) {
  if (text.empty()) return 0;
  const auto offset = static_cast<plan::Text>(texts_.size());
  const char* end = text.c_str() + strlen(text.c_str()) + 1;  // up to the first NUL
  texts_.insert(texts_.end(), text.c_str(), end);
  return offset;
}

uint64_t PlanTables::AddBytes(std::span<const uint8_t> bytes) {
  bytes_.resize((bytes_.size() + kAlignment - 1) & ~(kAlignment - 1));
  const uint64_t offset = bytes_.size();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return offset;
}

uint64_t PlanTables::AddContent(std::span<const uint8_t> bytes) {
  const uint64_t offset = contents_size_;
  contents_.push_back({offset, bytes});
  contents_size_ += RoundUp(bytes.size());
  return offset;
}

Result<Fd> PlanTables::Write() {
  header_.modules = AddTable(modules_);
  header_.mappings = AddTable(mappings_);
  header_.runs = AddTable(runs_);
  header_.patches = AddTable(patches_);
  header_.unlocks = AddTable(unlocks_);
  header_.files = AddTable(files_);
  header_.inputs = AddTable(inputs_);
  header_.input_names = AddTable(input_names_);
  header_.frames = AddTable(frames_);
  header_.runtime_symbols = AddTable(runtime_symbols_);
  header_.shapes = AddTable(shapes_);
  header_.absent = AddTable(absent_);
  header_.text = AddTable(texts_);
  header_.contents = RoundUp(bytes_.size());
  const uint64_t size = header_.contents + contents_size_;
  memcpy(bytes_.data(), &header_, sizeof header_);

  Fd file = MakeInheritedFile("recrash-plan", size);
  bool written = file && WriteAt(file, 0, bytes_);
  for (const Content& content : contents_) {
    written = written && WriteAt(file, header_.contents + content.offset, content.bytes);
  }
  if (written) return file;
  return Error{Errc::kRefused,
               "cannot write " + std::to_string(size >> 20) + " MiB into an anonymous file: " + strerror(errno)};
}

}  // namespace recrash
