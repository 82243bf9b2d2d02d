#include "testgen/replay/host/input_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/fd.h"
#include "agent/base/sha256.h"

namespace recrash {
namespace {

std::string HashOf(const Fd& file) {
  Sha256 hash;
  std::vector<uint8_t> piece(1 << 20);
  ssize_t size;
  while ((size = read(file.get(), piece.data(), piece.size())) > 0)
    hash.Append({piece.data(), static_cast<size_t>(size)});
  return size == 0 ? hash.Finish() : "";
}

std::string Problem(const Input& input) {
  const Fd file(open(input.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return input.path + " is missing";
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size != input.size)
    return input.path + " has " + std::to_string(size) + " bytes, " + std::to_string(input.size) + " at the crash";
  if (!input.sha256.empty() && HashOf(file) != input.sha256) return input.path + " has changed since the crash";
  return "";
}

}  // namespace

std::map<size_t, std::string> InputProblems(const Report& report) {
  std::map<size_t, std::string> problems;
  for (size_t i = 0; i < report.inputs.size(); ++i) {
    if (report.inputs[i].held()) continue;
    if (std::string problem = Problem(report.inputs[i]); !problem.empty()) problems.emplace(i, std::move(problem));
  }
  return problems;
}

}  // namespace recrash
