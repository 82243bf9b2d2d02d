// The dying process's memory as the developer's machine knows it: what the report kept, and what the modules' files
// hold in segments that cannot be written. For an exception that `noexcept` unwound, the stack as it was at the throw
// lies over both.
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_REPORT_MEMORY_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_REPORT_MEMORY_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "agent/report/report.h"
#include "testgen/symbols/files/module_set.h"

namespace recrash {

class ReportMemory {
 public:
  ReportMemory(const Report& report, ModuleSet* modules) : report_(report), modules_(modules) {}

  void Overlay(TargetAddress address, std::span<const uint8_t> bytes) {
    overlay_address_ = address;
    overlay_ = bytes;
  }

  bool Read(TargetAddress address, std::span<uint8_t> out) const {
    if (out.empty()) return true;
    if (!overlay_.empty() && address >= overlay_address_ && address - overlay_address_ <= overlay_.size() &&
        out.size() <= overlay_.size() - (address - overlay_address_)) {
      std::memcpy(out.data(), overlay_.data() + (address - overlay_address_), out.size());
      return true;
    }
    return report_.Read(address, out) || (modules_ != nullptr && modules_->ReadFile(address, out));
  }

  // `size` bytes as a number, little-endian; at most eight.
  std::optional<uint64_t> ReadNumber(TargetAddress address, size_t size) const {
    uint64_t value = 0;
    if (size > sizeof(value) || !Read(address, {reinterpret_cast<uint8_t*>(&value), size})) return std::nullopt;
    return value;
  }
  std::optional<uint64_t> ReadWord(TargetAddress address) const { return ReadNumber(address, 8); }

 private:
  const Report& report_;
  ModuleSet* modules_;
  TargetAddress overlay_address_;
  std::span<const uint8_t> overlay_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_REPORT_MEMORY_H_
