#include "integrations/cli/json.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

namespace recrash::cli {

nlohmann::ordered_json FrameJson(const Frame& frame) {
  return {{"index", frame.index}, {"function", frame.function},   {"file", frame.file},
          {"line", frame.line},   {"monitored", frame.monitored}, {"inlined", frame.inlined}};
}

nlohmann::ordered_json CostJson(const Report& report, uint64_t report_bytes) {
  return {{"crashed_at_ns", report.process.crashed_at},
          {"report_bytes", report_bytes},
          {"memory_bytes", SizeOf(report.memory)},
          {"collect_ms", static_cast<double>(report.process.collect_ns) / 1e6}};
}

nlohmann::ordered_json LogsJson(const Report& report, bool with_text) {
  nlohmann::ordered_json logs = nlohmann::ordered_json::array();
  for (const KeptLog& log : report.logs) {
    logs.push_back({{"kind", log.title()}, {"path", log.path}, {"size", log.size}, {"kept", log.tail.size()}});
    if (with_text) logs.back()["text"] = std::string(log.tail.begin(), log.tail.end());
  }
  return logs;
}

Status WriteJson(const nlohmann::ordered_json& value, const std::string& path) {
  if (path.empty()) return Ok{};
  // ASCII alone: what is printed may go to a terminal.
  const std::string text = value.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (path == "-") {
    std::cout << text << std::flush;
    return Ok{};
  }
  std::ofstream file(path, std::ios::trunc);
  file << text << std::flush;
  if (file) return Ok{};
  return Error{Errc::kRefused, path + ": the JSON result cannot be written: " + std::strerror(errno)};
}

}  // namespace recrash::cli
