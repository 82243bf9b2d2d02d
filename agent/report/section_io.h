// One section of a report as a stream, packed into zstd chunks on its way to disk and unpacked on its way back.
//
// A chunk holds at most a mebibyte, so that neither side needs more than two chunks of memory whatever the section's
// size is, and nothing is allocated on the word of a length that was read: what a stream yields was really there.
#ifndef RECRASH_AGENT_REPORT_SECTION_IO_H_
#define RECRASH_AGENT_REPORT_SECTION_IO_H_

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/file_io.h"
#include "agent/base/result.h"
#include "agent/report/format.h"

namespace recrash {

// A report is written while its program is dying; one that lies beside tests is committed, and is small.
enum class Effort { kQuick, kSmallChunksTightly };

class SectionWriter {
 public:
  // The section begins at `offset` of `file`, which outlives this.
  SectionWriter(OutputFile* file, format::SectionKind kind, uint32_t flags, uint64_t offset, Effort effort,
                format::Compression compression = format::Compression::kZstdChunks);

  void Append(const void* data, size_t size);
  // Writes what is left; the result is the section's line of the table.
  format::Section Finish();

 private:
  void WriteChunk();
  void WriteStored(const void* data, size_t size);

  OutputFile* file_;
  Effort effort_;
  format::Section section_;
  std::vector<uint8_t> pending_;
  std::vector<uint8_t> packed_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd_;
};

class SectionReader {
 public:
  // `section` lies inside `file`, which outlives this. `name` is for messages.
  SectionReader(const InputFile* file, const format::Section& section, std::string name);

  uint64_t left() const { return left_ + buffer_.size() - position_; }
  Status Read(void* out, size_t size);
  // Appends `size` bytes to `out`, growing it no faster than bytes come.
  Status Append(uint64_t size, std::vector<uint8_t>* out);
  Status ExpectEnd() const;
  Error Damaged(const std::string& what) const { return file_->Damaged(name_ + ": " + what); }

 private:
  Status Fill();
  Status FillPlain();
  Status FillFromChunk();

  const InputFile* file_;
  std::string name_;
  format::Compression compression_;
  uint64_t offset_;  // of the next stored byte
  uint64_t stored_left_;
  uint64_t left_;  // to come after the buffer
  std::vector<uint8_t> buffer_;
  size_t position_ = 0;
  std::vector<uint8_t> packed_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_SECTION_IO_H_
