// Makes a zip file in memory, so that its size is known before anything is written.
//
//   const Result<std::vector<uint8_t>> zip = MakeZip({{"README.md", text}, {"a.rcr", report}}, crashed_at);
#ifndef RECRASH_AGENT_BUNDLE_ZIP_WRITER_H_
#define RECRASH_AGENT_BUNDLE_ZIP_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

struct ZipMember {
  std::string name;  // of letters, digits, dots, dashes and underlines: it becomes a file's when somebody unpacks it
  std::vector<uint8_t> bytes;
};

// All members get this time, in UTC. A member is deflated if that makes it smaller by a sixteenth, else stored.
// kRefused: they do not fit into 4 GiB.
Result<std::vector<uint8_t>> MakeZip(std::span<const ZipMember> members, int64_t unix_seconds);

}  // namespace recrash

#endif  // RECRASH_AGENT_BUNDLE_ZIP_WRITER_H_
