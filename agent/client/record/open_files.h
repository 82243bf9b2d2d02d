// Lists the program's open descriptors with their offsets. Snapshots share a list while nothing changes.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_CLIENT_RECORD_OPEN_FILES_H_
#define RECRASH_AGENT_CLIENT_RECORD_OPEN_FILES_H_

#include "agent/client/record/version_log.h"

namespace recrash::record {

// Lists all descriptors but `own`, as far as there is room.
RECRASH_SIGNAL_SAFE void ListOpenFiles(VersionLog& log, const int (&own)[3], LogFileList& list);

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_OPEN_FILES_H_
