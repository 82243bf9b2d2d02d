#include "testgen/suite/format.h"

#include <fstream>
#include <iterator>

#include "agent/process/subprocess.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

bool HasStyle(const fs::path& folder) {
  std::error_code error;
  for (fs::path at = fs::absolute(folder, error);; at = at.parent_path()) {
    if (fs::exists(at / ".clang-format", error) || fs::exists(at / "_clang-format", error)) return true;
    if (at == at.parent_path()) return false;
  }
}

}  // namespace

std::string FormattedFor(const fs::path& folder, const std::string& source) {
  if (!HasStyle(folder) || FindInPath("clang-format").empty()) return source;
  // clang-format looks for the style from the file on upwards.
  const fs::path copy = folder / ".recrash_format.cc";
  std::ofstream(copy, std::ios::binary | std::ios::trunc) << source;
  ProcessOptions quiet;
  quiet.capture = true;
  const Result<ProcessResult> run = RunProcess({"clang-format", "--style=file", "-i", copy.string()}, quiet);
  std::ifstream file(copy, std::ios::binary);
  const std::string formatted(std::istreambuf_iterator<char>(file), {});
  std::error_code error;
  fs::remove(copy, error);
  return run && run->ok() && !formatted.empty() ? formatted : source;
}

}  // namespace recrash
