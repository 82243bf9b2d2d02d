// Breakpad's minidump writer, for a process whose threads are held already.
#ifndef RECRASH_AGENT_COLLECTOR_BREAKPAD_WRITER_H_
#define RECRASH_AGENT_COLLECTOR_BREAKPAD_WRITER_H_

#include "agent/process/stopped_process.h"
#include "agent/process/target_memory.h"
#include "client/linux/handler/exception_handler.h"

namespace recrash {

// Writes to the descriptor. Threads that are not held are left out.
bool WriteMinidumpOf(const StoppedProcess& process, const PageSource& memory,
                     const google_breakpad::ExceptionHandler::CrashContext& crash, int descriptor);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_BREAKPAD_WRITER_H_
