#include "agent/collector/minidump.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>

#include "client/linux/handler/exception_handler.h"
#include "client/linux/minidump_writer/minidump_writer.h"
#include "google_breakpad/common/minidump_exception_linux.h"

namespace recrash {

Status WriteMinidump(const std::string& path, const abi::CrashRecord& record) {
  google_breakpad::ExceptionHandler::CrashContext context = {};
  context.siginfo = record.siginfo;
  if (record.kind == abi::FailureKind::kReported)
    context.siginfo.si_signo = static_cast<int>(MD_EXCEPTION_CODE_LIN_DUMP_REQUESTED);
  context.tid = record.tid;
  context.context = record.context;
  static_assert(sizeof context.float_state == sizeof record.fpstate);
  std::memcpy(&context.float_state, record.fpstate, sizeof record.fpstate);
  const std::string partial = path + ".part";
  unlink(partial.c_str());
  if (!google_breakpad::WriteMinidump(partial.c_str(), record.pid, &context, sizeof context) ||
      rename(partial.c_str(), path.c_str()) != 0) {
    const Error error{Errc::kRefused, path + ": the minidump could not be written: " + std::strerror(errno)};
    unlink(partial.c_str());
    return error;
  }
  return Ok{};
}

}  // namespace recrash
