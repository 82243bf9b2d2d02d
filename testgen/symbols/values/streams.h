// Finds parameters through which a function reads a stream.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_STREAMS_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_STREAMS_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>

#include "agent/report/report.h"
#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/report_memory.h"

namespace recrash {

// Describes the stream at `address`, to which a parameter of this type points; the parameter's number is left open.
// Nothing if the type is no pointer or reference to a stream, for null, and for a FILE that is only written.
std::optional<ReplayStream> StreamOf(DebugInfo& debug, Dwarf_Die type, TargetAddress address,
                                     const ReportMemory& memory);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_STREAMS_H_
