// The failed process's memory, as far as the desk knows it: what the report kept, and the segments of the modules'
// files that cannot be written.
//
//   ReportMemory memory(report, &modules);
//   const std::optional<uint64_t> word = memory.ReadWord(frame.entry_sp);
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_REPORT_MEMORY_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_REPORT_MEMORY_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "agent/report/pages.h"
#include "agent/report/report.h"
#include "testgen/symbols/files/module_set.h"

namespace recrash {

class ReportMemory {
 public:
  ReportMemory(const Report& report, ModuleSet* modules) : report_(report), modules_(modules) {}

  const Report& report() const { return report_; }

  // Lays `bytes` over the rest. If `noexcept` ended the program, the stack up to the throw is unwound; the report has a
  // copy of the stack as it was at the throw.
  void Overlay(TargetAddress address, std::span<const uint8_t> bytes) {
    overlay_address_ = address;
    overlay_ = bytes;
  }

  // Lays whole pages over all of it: memory at another moment. They must outlive this object.
  void OverlayPages(const Pages* pages) { pages_ = pages; }

  // Fills `out`; false if one of its bytes is not known.
  bool Read(TargetAddress address, std::span<uint8_t> out) const {
    if (pages_ == nullptr) return ReadRecorded(address, out);
    while (!out.empty()) {
      const uint64_t offset = address.value % kPageSize;
      const size_t size = std::min<size_t>(out.size(), kPageSize - offset);
      const auto page = pages_->find(address.value - offset);
      if (page != pages_->end())
        std::memcpy(out.data(), page->second + offset, size);
      else if (!ReadRecorded(address, out.first(size)))
        return false;
      address = address + size;
      out = out.subspan(size);
    }
    return true;
  }

  // Reads `size` bytes, at most eight, as a little-endian number. Nothing if one of them is not known.
  std::optional<uint64_t> ReadNumber(TargetAddress address, size_t size) const {
    uint64_t value = 0;
    if (size > sizeof(value) || !Read(address, {reinterpret_cast<uint8_t*>(&value), size})) return std::nullopt;
    return value;
  }
  std::optional<uint64_t> ReadWord(TargetAddress address) const { return ReadNumber(address, 8); }

 private:
  static constexpr uint64_t kPageSize = 4096;

  bool ReadRecorded(TargetAddress address, std::span<uint8_t> out) const {
    if (out.empty()) return true;
    if (!overlay_.empty() && address >= overlay_address_ && address - overlay_address_ <= overlay_.size() &&
        out.size() <= overlay_.size() - (address - overlay_address_)) {
      std::memcpy(out.data(), overlay_.data() + (address - overlay_address_), out.size());
      return true;
    }
    return report_.Read(address, out) || (modules_ != nullptr && modules_->ReadFile(address, out));
  }

  const Report& report_;
  ModuleSet* modules_;
  TargetAddress overlay_address_;
  std::span<const uint8_t> overlay_;
  const Pages* pages_ = nullptr;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_REPORT_MEMORY_H_
