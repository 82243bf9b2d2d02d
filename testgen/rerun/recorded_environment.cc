#include "testgen/rerun/recorded_environment.h"

#include <algorithm>
#include <string_view>

namespace recrash {
namespace {

// Texts of arguments, environment and the program's name: at most what execve takes.
constexpr uint64_t kMostText = 2 << 20;

// The recorded bytes that end where the stack ends.
std::string TopOfStack(const Report& report) {
  for (const Mapping& mapping : report.mappings) {
    if (mapping.path != "[stack]") continue;
    for (const Region& region : report.memory) {
      if (region.address.value + region.bytes.size() != mapping.end.value) continue;
      const size_t size = std::min<size_t>(region.bytes.size(), kMostText);
      return std::string(region.bytes.end() - static_cast<std::ptrdiff_t>(size), region.bytes.end());
    }
  }
  return "";
}

bool IsAssignment(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && equals > 0;
}

}  // namespace

// argv[0] NUL … argv[n] NUL NAME=value NUL … program NUL, then eight zero bytes.
std::vector<std::string> RecordedEnvironment(const Report& report) {
  const std::string top = TopOfStack(report);
  std::string arguments;
  for (const std::string& argument : report.process.arguments) arguments += argument + '\0';
  const size_t start = top.rfind('\0' + arguments);
  if (arguments.empty() || start == std::string::npos) return {};
  std::vector<std::string> environment;
  size_t at = start + 1 + arguments.size();
  while (at < top.size()) {
    const size_t end = std::min(top.find('\0', at), top.size());
    const std::string_view text = std::string_view(top).substr(at, end - at);
    if (text.empty()) break;
    if (IsAssignment(text)) environment.emplace_back(text);
    at = end + 1;
  }
  return environment;
}

}  // namespace recrash
