// Parameters through which a function reads a stream.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_STREAMS_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_STREAMS_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>

#include "agent/report/report.h"
#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/report_memory.h"

namespace recrash {

// What a parameter of this type, a pointer or reference with the value `address`, says of the stream there, all but its
// number. Nothing for what is no stream, for null, and for a FILE that is only written.
std::optional<ReplayStream> StreamOf(DebugInfo& debug, Dwarf_Die type, TargetAddress address,
                                     const ReportMemory& memory);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_STREAMS_H_
