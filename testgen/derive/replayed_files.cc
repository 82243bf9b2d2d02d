#include "testgen/derive/replayed_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

#include "agent/process/proc_files.h"

namespace recrash {
namespace {

const OpenFile* Find(const std::vector<OpenFile>& files, int32_t descriptor) {
  const auto found = std::ranges::find(files, descriptor, &OpenFile::descriptor);
  return found == files.end() ? nullptr : &*found;
}

std::vector<uint8_t> ContentOf(pid_t process, const OpenFile& file) {
  std::ifstream in(ProcPath(process, "fd/" + std::to_string(file.descriptor)), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// An anonymous file, by what it holds: the input that it stands for.
std::optional<size_t> InputOf(const Report& report, pid_t process, const OpenFile& file) {
  if (!file.path.starts_with("/memfd:recrash-input")) return std::nullopt;
  // The program can make one of that name, and of any size: what is no input's is not read.
  const auto can_be = [&](const Input& input) { return input.held() && input.bytes.size() == file.size; };
  if (std::ranges::none_of(report.inputs, can_be)) return std::nullopt;
  const std::vector<uint8_t> content = ContentOf(process, file);
  for (size_t i = 0; i < report.inputs.size(); ++i) {
    if (can_be(report.inputs[i]) && report.inputs[i].bytes == content) return i;
  }
  return std::nullopt;
}

OpenFile Opened(const Report& report, pid_t process, OpenFile file) {
  if (const std::optional<size_t> input = InputOf(report, process, file)) {
    file.path = report.inputs[*input].path;
    file.input = static_cast<int32_t>(*input);
    file.mode = S_IFREG | 0644;
  }
  return file;
}

}  // namespace

std::vector<OpenFile> ProgramsFiles(const Report& report, const std::vector<OpenFile>& recorded,
                                    const std::vector<OpenFile>& begin, pid_t process) {
  std::vector<OpenFile> files;
  for (const OpenFile& now : ReadOpenFiles(process)) {
    const OpenFile* then = Find(begin, now.descriptor);
    const OpenFile* known = Find(recorded, now.descriptor);
    if (!then || then->path != now.path) {
      files.push_back(Opened(report, process, now));
    } else if (known) {
      files.push_back(*known);
      // What was written went nowhere, and has not moved on.
      if (S_ISREG(now.mode)) files.back().offset = now.offset;
    }
  }
  return files;
}

}  // namespace recrash
