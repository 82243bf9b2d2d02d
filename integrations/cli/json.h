// The --json forms. Text of the report may be any bytes: what is not UTF-8 becomes U+FFFD.
#ifndef RECRASH_INTEGRATIONS_CLI_JSON_H_
#define RECRASH_INTEGRATIONS_CLI_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash::cli {

// index, function, file, line, monitored, inlined: the fields that every list of frames has.
nlohmann::ordered_json FrameJson(const Frame& frame);

// crashed_at_ns (Unix time of the signal), report_bytes (of the file that the collector wrote), memory_bytes (of the
// pages in it, unpacked), collect_ms (from the signal until all that is in it was read): what a report costs.
nlohmann::ordered_json CostJson(const Report& report, uint64_t report_bytes);

// kind, path, size and kept of each log; with its text too.
nlohmann::ordered_json LogsJson(const Report& report, bool with_text);

// Into the file, or standard output for "-". Nothing for "".
Status WriteJson(const nlohmann::ordered_json& value, const std::string& path);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_JSON_H_
