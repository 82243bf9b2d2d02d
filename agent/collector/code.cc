#include "agent/collector/code.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/text.h"
#include "agent/process/changed_code.h"
#include "agent/process/proc_files.h"

namespace recrash {
namespace {

constexpr uint64_t kMostPages = 4096;

// Around the failing instruction, and around a return address.
constexpr uint64_t kBeforeFailure = 512, kBehindFailure = 128;
constexpr uint64_t kBeforeReturn = 64, kBehindReturn = 16;

size_t ReadFile(int file, uint64_t offset, std::span<uint8_t> out) {
  const ssize_t got = pread(file, out.data(), out.size(), static_cast<off_t>(offset));
  return got > 0 ? static_cast<size_t>(got) : 0;
}

class CodeReader {
 public:
  CodeReader(const TargetMemory& memory, pid_t pid, Report* report)
      : memory_(memory), pid_(pid), patched_(WhoPatches(*report)), report_(*report) {}

  void Compare();
  void Keep(const WalkedStack& stack);

 private:
  Fd FileOf(const Mapping& mapping) const;
  void ComparePages(const Mapping& mapping, int file, const std::vector<PageRun>& runs);
  void Keep(TargetAddress address, uint64_t before, uint64_t behind);

  const TargetMemory& memory_;
  pid_t pid_;
  PatchedBy patched_;
  Report& report_;
  uint64_t pages_left_ = kMostPages;
};

// The module's file, if it is still the one that was loaded: its first page, with headers and build-id, is that in
// memory. A file of which somebody has taken the name is none.
Fd CodeReader::FileOf(const Mapping& mapping) const {
  const Module* module = report_.FindModule(mapping.start);
  if (module == nullptr || !mapping.path.starts_with('/')) return Fd();
  Fd file(open((ProcPath(pid_, "root") + mapping.path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  uint8_t in_memory[kPageSize], in_file[kPageSize];
  const bool is_same = file && memory_.Read(module->base, in_memory) == kPageSize &&
                       ReadFile(file.get(), 0, in_file) == kPageSize && std::ranges::equal(in_memory, in_file);
  return is_same ? std::move(file) : Fd();
}

void CodeReader::ComparePages(const Mapping& mapping, int file, const std::vector<PageRun>& runs) {
  CodeInMemory& code = report_.code;
  uint8_t in_memory[kPageSize], in_file[kPageSize];
  for (const PageRun& run : runs) {
    for (uint64_t i = 0; i < run.pages && pages_left_ > 0; ++i, --pages_left_) {
      const TargetAddress page = run.start + i * kPageSize;
      const size_t size = std::min(memory_.Read(page, in_memory),
                                   ReadFile(file, mapping.file_offset + (page - mapping.start), in_file));
      const CodeDifference difference = CompareCode(page, {in_memory, size}, {in_file, size}, patched_);
      code.changed += difference.changed;
      const size_t room = kMostFlippedBytes - code.flipped.size();
      const auto end = difference.flipped.begin() + static_cast<ptrdiff_t>(std::min(room, difference.flipped.size()));
      code.flipped.insert(code.flipped.end(), difference.flipped.begin(), end);
    }
  }
}

void CodeReader::Compare() {
  for (const Mapping& mapping : report_.mappings) {
    if ((mapping.flags & (kMapExecute | kMapShared)) != kMapExecute) continue;
    const std::optional<std::vector<PageRun>> runs = memory_.Copied(mapping);
    if (!runs || runs->empty()) continue;
    if (const Fd file = FileOf(mapping)) ComparePages(mapping, file.get(), *runs);
  }
  if (pages_left_ == 0)
    report_.losses.push_back("bits of code that flipped: only the first " + std::to_string(kMostPages) +
                             " pages of code that was written to were compared");
}

// Other segments may lie beside the code, at other offsets in the file.
void CodeReader::Keep(TargetAddress address, uint64_t before, uint64_t behind) {
  const Mapping* mapping = report_.FindMapping(address);
  if (mapping == nullptr || (mapping->flags & kMapExecute) == 0) return;
  const TargetAddress start = address - std::min(before, address - mapping->start);
  const uint64_t size = address - start + std::min(behind, mapping->end - address);
  Region region = {start, std::vector<uint8_t>(size)};
  region.bytes.resize(memory_.Read(start, region.bytes));
  if (!region.bytes.empty()) report_.code.kept.push_back(std::move(region));
}

void CodeReader::Keep(const WalkedStack& stack) {
  const Thread* failing = report_.failing_thread();
  const TargetAddress pc{failing ? failing->registers.pc() : 0};
  if (report_.FindModule(pc) != nullptr) Keep(pc, kBeforeFailure, kBehindFailure);
  for (const WalkedFrame& frame : stack.frames) {
    const TargetAddress address{frame.address + frame.module->bias};
    if (address != pc) Keep(address, kBeforeReturn, kBehindReturn);
  }
}

}  // namespace

void ReadCode(const TargetMemory& memory, pid_t pid, const WalkedStack& stack, Report* report) {
  CodeReader reader(memory, pid, report);
  reader.Compare();
  reader.Keep(stack);
}

}  // namespace recrash
