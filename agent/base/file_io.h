// The two ends of a report's file: one that appears only when it is complete, and one that is read at offsets.
#ifndef RECRASH_AGENT_BASE_FILE_IO_H_
#define RECRASH_AGENT_BASE_FILE_IO_H_

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "agent/base/fd.h"
#include "agent/base/result.h"

namespace recrash {

// A new file beside `path`. Keep() gives it that name; a file that is not kept is removed.
class OutputFile {
 public:
  // Keep() takes the place of a file of that name. `what` is for messages; `mode` does not depend on the umask.
  static Result<OutputFile> Create(const std::string& path, const std::string& what = "report", mode_t mode = 0600);
  // For names that other processes may choose, too, in this container or in another one that shares the folder: fails
  // with kTaken if there is a file of that name, or a writer of one. Meanwhile the file is PATH.part (part_file.h).
  static Result<OutputFile> CreateNew(const std::string& path, const std::string& what = "report");
  OutputFile(OutputFile&&) = default;
  ~OutputFile();

  const std::string& path() const { return path_; }
  // What is written goes to the disk piece by piece. Where memory is short, pages that wait for a slow disk are a part
  // of what may be used.
  void WriteThrough() { writes_through_ = true; }
  // Does nothing after a write that failed.
  void WriteAt(uint64_t offset, const void* data, size_t size);
  // The error of the first write that failed, too.
  Status Keep();

 private:
  OutputFile(Fd fd, std::string path, std::string what, std::string temporary)
      : fd_(std::move(fd)), path_(std::move(path)), what_(std::move(what)), temporary_(std::move(temporary)) {}
  Error NotWritten(int problem) const;

  Fd fd_;
  std::string path_;
  std::string what_;
  int problem_ = 0;  // errno of a write that failed
  bool writes_through_ = false;
  size_t waiting_ = 0;     // bytes that may not be on the disk yet
  std::string temporary_;  // empty after Keep, and in what was moved from
};

class InputFile {
 public:
  // Fails with kMissing if there is no such file, with kRefused if it is not a regular file or may not be read.
  static Result<InputFile> Open(const std::string& path);
  // A file that has no name, with these bytes in it. `path` is for messages.
  static Result<InputFile> InMemory(const std::string& path, std::span<const uint8_t> bytes);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  Status ReadAt(uint64_t offset, void* out, size_t size) const;
  // Returns the Error "<path>: damaged report: <what>".
  Error Damaged(const std::string& what) const;

 private:
  InputFile(Fd fd, std::string path, uint64_t size) : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}

  Fd fd_;
  std::string path_;
  uint64_t size_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_FILE_IO_H_
