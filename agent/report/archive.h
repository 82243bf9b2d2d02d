// The parts of a report that are records rather than memory, as Boost.Serialization archives of recrash's own class.
#ifndef RECRASH_AGENT_REPORT_ARCHIVE_H_
#define RECRASH_AGENT_REPORT_ARCHIVE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/format.h"
#include "agent/report/report.h"

namespace recrash {

// `version` is the report's: older ones have fewer fields. An error's message says what and where, without a path.

// Everything of the report but `memory`, `replay` and the contents of inputs.
Result<std::vector<uint8_t>> EncodeMetadata(const Report& report, uint32_t version = format::kVersion);
Status DecodeMetadata(std::span<const uint8_t> bytes, uint32_t version, Report* report);

// Everything of the snapshots but their memory.
Result<std::vector<uint8_t>> EncodeSnapshots(const SnapshotLog& snapshots, uint32_t version = format::kVersion);
Status DecodeSnapshots(std::span<const uint8_t> bytes, uint32_t version, SnapshotLog* snapshots);

// Everything of the replay data but the image's `read_only` regions.
Result<std::vector<uint8_t>> EncodeReplay(const ReplayData& replay, uint32_t version = format::kVersion);
Status DecodeReplay(std::span<const uint8_t> bytes, uint32_t version, ReplayData* replay);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_ARCHIVE_H_
