// Finds the object that a virtual function was called on, if the function itself has lost it and its caller has no
// debug information: the caller was compiled elsewhere, such as the function of libstdc++ that runs a std::thread.
//
//   if (!bytes && parameter.is_receiver) bytes = FindVirtualReceiver(stack, index, code, memory);
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_VIRTUAL_RECEIVER_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_VIRTUAL_RECEIVER_H_

#include <cstddef>
#include <optional>

#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/values/frame_values.h"

namespace recrash {

// Returns the address as eight bytes. What the caller keeps across the call, in registers and in its stack frame, has
// to lead to exactly one object whose vtable names the function of the frame at `index`.
std::optional<Bytes> FindVirtualReceiver(const Stack& stack, size_t index, const CodeInfo& code,
                                         const ReportMemory& memory);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_VIRTUAL_RECEIVER_H_
