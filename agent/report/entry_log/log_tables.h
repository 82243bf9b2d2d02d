// Tables of the version log, copied out of the process.
#ifndef RECRASH_AGENT_REPORT_ENTRY_LOG_LOG_TABLES_H_
#define RECRASH_AGENT_REPORT_ENTRY_LOG_LOG_TABLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/report/page_source.h"
#include "shadowstack/log_format.h"

namespace recrash {

// The table of `count` T at this offset of the log; empty if it does not lie in the log or cannot be read. The log may
// claim a size that it does not have: nothing is allocated before its last byte was seen.
template <typename T>
std::vector<T> ReadTable(const PageSource& memory, const record::LogHeader& log, uint64_t offset, uint64_t count) {
  if (count == 0 || offset > log.size || count > (log.size - offset) / sizeof(T)) return {};
  const TargetAddress table_at = TargetAddress{log.start} + offset;
  uint8_t last;
  if (!memory.ReadObject(table_at + (count * sizeof(T) - 1), &last)) return {};
  std::vector<T> table(count);
  auto* bytes = reinterpret_cast<uint8_t*>(table.data());
  if (memory.Read(table_at, {bytes, count * sizeof(T)}) != count * sizeof(T)) return {};
  return table;
}

template <typename T>
std::optional<T> ReadOne(const PageSource& memory, const record::LogHeader& log, uint64_t offset, uint64_t index) {
  std::vector<T> one = ReadTable<T>(memory, log, offset + index * sizeof(T), 1);
  return one.empty() ? std::nullopt : std::optional<T>(one.front());
}

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_ENTRY_LOG_LOG_TABLES_H_
