// The code of a module, from its file: where functions begin, what they are called, which bytes lie where.
//
// Stripped files do: beginnings come from .eh_frame_hdr. The file may be hostile; everything is checked against its
// size.
#ifndef RECRASH_AGENT_ELF_CODE_IMAGE_H_
#define RECRASH_AGENT_ELF_CODE_IMAGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

class CodeImage {
 public:
  static Result<CodeImage> Open(const std::string& path);
  CodeImage(CodeImage&& other) noexcept;
  ~CodeImage();

  // Addresses are the file's.
  std::optional<uint64_t> FunctionStart(uint64_t address) const;
  // Of functions that begin there, as far as the symbol tables tell: one pass over them for all.
  std::map<uint64_t, std::string> FunctionNames(const std::set<uint64_t>& starts) const;
  // Fewer bytes where the file does not have them.
  std::span<const uint8_t> Bytes(uint64_t address, size_t size) const;
  bool IsPatchable(uint64_t start) const;        // compiled in a second-chance mode
  bool IsReturnAddress(uint64_t address) const;  // the instruction before it may be a call

 private:
  struct Segment {
    uint64_t address;
    uint64_t offset;
    uint64_t size;
    bool executable;
  };

  CodeImage() = default;
  std::span<const uint8_t> FileBytes(uint64_t offset, uint64_t size) const;
  template <typename T>
  std::optional<T> Read(uint64_t offset) const;
  bool ReadHeaders();
  void NamesIn(uint32_t table_type, const std::set<uint64_t>& starts, std::map<uint64_t, std::string>* names) const;

  const uint8_t* bytes_ = nullptr;
  uint64_t size_ = 0;
  std::vector<Segment> segments_;
  uint64_t frame_table_ = 0;  // address of .eh_frame_hdr; 0: none
  uint64_t frame_table_size_ = 0;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_CODE_IMAGE_H_
