// For tests: a directory of their own, and files as bytes.
#ifndef RECRASH_AGENT_BASE_TESTING_FILES_H_
#define RECRASH_AGENT_BASE_TESTING_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace recrash {

// A directory that is removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;  // of what is in it, sorted

 private:
  std::string path_;
};

std::vector<uint8_t> ReadBytes(const std::string& path);
void WriteBytes(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_TESTING_FILES_H_
