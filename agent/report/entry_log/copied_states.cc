#include "agent/report/entry_log/copied_states.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "agent/report/entry_log/log_tables.h"
#include "agent/report/maps.h"
#include "agent/report/pages.h"

namespace recrash {
namespace {

using record::LogCopy;
using record::LogFrame;
using record::LogVersion;

// A copy of a few bytes takes a page.
constexpr uint64_t kMostKept = uint64_t{1} << 30;

Error Damaged(const LogFrame& frame, const std::string& what) {
  return {Errc::kDamaged, "the log of copies is damaged: those of entry " + std::to_string(frame.number) + " " + what};
}

bool IsIn(const std::vector<Mapping>& mappings, const LogCopy& copy) {
  return std::ranges::any_of(mappings, [&](const Mapping& mapping) {
    return copy.address >= mapping.start.value && copy.address < mapping.end.value &&
           copy.size <= mapping.end.value - copy.address;
  });
}

}  // namespace

CopiedStates::CopiedStates(const PageSource& memory, const record::LogHeader& log, const Report& report)
    : memory_(memory), log_(log), report_(report), heap_(memory, log.copy_depth != 0 ? report : Report()) {
  if (log.copy_depth != 0)
    versions_ = ReadTable<LogVersion>(memory, log, log.versions, log.version_capacity + uint64_t{1});
}

// The stream of a frame: the head of each copy, then its bytes.
Result<std::vector<uint8_t>> CopiedStates::Stream(const LogFrame& frame) const {
  if (frame.copy_bytes > record::kMostCopyPages * kPageSize)
    return Damaged(frame, "have " + std::to_string(frame.copy_bytes) + " bytes, at most " +
                              std::to_string(record::kMostCopyPages * kPageSize) + " are possible");
  std::vector<uint8_t> stream(frame.copy_bytes);
  uint32_t version = frame.copies;
  for (size_t done = 0; done < stream.size(); done += kPageSize) {
    if (version == 0 || version >= versions_.size() || versions_[version].number != frame.number)
      return Damaged(frame, "end after " + std::to_string(done) + " of " + std::to_string(stream.size()) + " bytes");
    const std::span piece(stream.data() + done, std::min<size_t>(kPageSize, stream.size() - done));
    const uint64_t offset = log_.contents + uint64_t{version} * kPageSize;
    if (offset >= log_.size || memory_.Read(TargetAddress{log_.start} + offset, piece) != piece.size())
      return Damaged(frame, "cannot be read");
    version = versions_[version].older;
  }
  return stream;
}

std::vector<uint8_t> CopiedStates::AtCrash(uint64_t page) const {
  std::vector<uint8_t> bytes(kPageSize);
  // A page that a limit kept out of the report is still in the process.
  if (!report_.Read({page}, bytes) && memory_.Read({page}, bytes) != kPageSize) std::ranges::fill(bytes, uint8_t{0});
  return bytes;
}

void CopiedStates::Lay(uint64_t address, std::span<const uint8_t> bytes, OwnPages* state) const {
  while (!bytes.empty()) {
    const uint64_t page = address & ~(kPageSize - 1);
    const size_t size = std::min<size_t>(bytes.size(), page + kPageSize - address);
    auto found = state->find(page);
    if (found == state->end()) found = state->emplace(page, AtCrash(page)).first;
    std::ranges::copy(bytes.first(size), found->second.begin() + static_cast<ptrdiff_t>(address - page));
    bytes = bytes.subspan(size);
    address += size;
  }
}

// The allocator's bins lie there. They stay as at the crash.
bool CopiedStates::IsOfLibc(uint64_t address) const {
  const Module* module = report_.FindModule({address});
  return module && module->path.ends_with("/libc.so.6");
}

Result<CopiedStates::OwnPages> CopiedStates::PagesOf(const LogFrame& frame,
                                                     const std::vector<Mapping>& mappings) const {
  const Result<std::vector<uint8_t>> stream = Stream(frame);
  if (!stream) return stream.error();
  OwnPages state;
  std::vector<LogCopy> laid;
  for (std::span<const uint8_t> rest = *stream; !rest.empty();) {
    LogCopy copy = {};
    if (rest.size() < sizeof copy) return Damaged(frame, "end in the middle of a copy");
    std::memcpy(&copy, rest.data(), sizeof copy);
    rest = rest.subspan(sizeof copy);
    if (copy.size == 0 || copy.size > rest.size())
      return Damaged(frame, "have one of " + std::to_string(copy.size) + " bytes where " + std::to_string(rest.size()) +
                                " are left");
    if (!IsIn(mappings, copy)) return Damaged(frame, "have one of memory that was not there");
    if (!IsOfLibc(copy.address)) {
      Lay(copy.address, rest.first(copy.size), &state);
      laid.push_back(copy);
    }
    rest = rest.subspan(copy.size);
  }
  heap_.Mend(std::move(laid), [&](uint64_t address, auto bytes) { Lay(address, bytes, &state); });
  return state;
}

// The pages in which `state` differs from the state after it, as they are in `state`.
std::vector<Region> CopiedStates::DifferenceTo(const OwnPages& state) const {
  std::map<uint64_t, std::vector<uint8_t>> pages = state;
  for (const auto& [page, bytes] : later_) {
    if (!state.contains(page)) pages[page] = AtCrash(page);
  }
  Pages changed;
  for (const auto& [page, bytes] : pages) {
    const auto later = later_.find(page);
    if (bytes != (later != later_.end() ? later->second : AtCrash(page))) changed[page] = bytes.data();
  }
  return JoinPages(changed);
}

Status CopiedStates::Describe(const LogFrame& frame, const std::vector<Mapping>& mappings, EntryState* state,
                              EntryMemory::Layer* layer) {
  Result<OwnPages> pages = PagesOf(frame, mappings);
  if (!pages) return pages.error();
  state->copied_depth = static_cast<uint8_t>(log_.copy_depth);
  state->copies_cut = frame.copies_cut != 0;
  *layer = DifferenceTo(*pages);
  for (const Region& region : *layer) kept_ += region.bytes.size();
  if (kept_ > kMostKept) return Error{Errc::kRefused, "their copies lie in more pages than may be kept"};
  // The allocator's own state, and the loader's, are those of the crash: so are the break, what is loaded, and what has
  // been unmapped, but for the mappings that were copied from.
  state->brk_end = report_.process.brk_end;
  state->not_loaded.clear();
  std::erase_if(state->mappings, [&](const Mapping& mapping) {
    const auto page = pages->lower_bound(mapping.start.value);
    return page == pages->end() || page->first >= mapping.end.value;
  });
  later_ = *std::move(pages);
  return Ok{};
}

}  // namespace recrash
