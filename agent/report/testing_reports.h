// Reports for tests: one with something in every field, and ways to compare and to damage them.
#ifndef RECRASH_AGENT_REPORT_TESTING_REPORTS_H_
#define RECRASH_AGENT_REPORT_TESTING_REPORTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// No field has its default value, no two fields of one struct are equal.
Report FullReport();
// As FullReport, but of a few hundred bytes on disk.
Report SmallReport();

// Every field as text, so that a difference shows where it is.
std::string Dump(const Report& report);

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

#endif  // RECRASH_AGENT_REPORT_TESTING_REPORTS_H_
