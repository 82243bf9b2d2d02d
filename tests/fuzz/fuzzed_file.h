// The fuzzer's bytes as a file with a name, for readers that open one.
#ifndef RECRASH_TESTS_FUZZ_FUZZED_FILE_H_
#define RECRASH_TESTS_FUZZ_FUZZED_FILE_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

namespace recrash {

// Returns the path of one file, written anew for each input. The file is removed at exit, but not after a finding.
inline const std::string& FuzzedFile(std::span<const uint8_t> bytes) {
  static std::string path = [] {
    const char* folder = std::getenv("TMPDIR");
    return std::string(folder != nullptr ? folder : "/tmp") + "/recrash-fuzz-XXXXXX";
  }();
  static const int file = [] {
    const int opened = mkostemp(path.data(), O_CLOEXEC);
    std::atexit([] { unlink(path.c_str()); });
    return opened;
  }();
  if (file < 0 || ftruncate(file, 0) != 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  return path;
}

}  // namespace recrash

#endif  // RECRASH_TESTS_FUZZ_FUZZED_FILE_H_
