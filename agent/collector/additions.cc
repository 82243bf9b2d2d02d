#include "agent/collector/additions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "agent/base/fd.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/process/proc_files.h"
#include "shadowstack/additions.h"

namespace recrash {
namespace {

// The last bytes of a regular file; nothing else is opened.
std::optional<KeptLog> ReadTail(LogKind kind, const std::string& name, const std::string& path) {
  struct stat status;
  if (Fails("log_file") || stat(name.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const Fd fd(open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  KeptLog log{kind, path, static_cast<uint64_t>(status.st_size), {}};
  log.tail.resize(std::min(log.size, abi::kMostLogTail));
  const uint64_t start = log.size - log.tail.size();
  for (size_t done = 0; done < log.tail.size();) {
    const ssize_t got =
        pread(fd.get(), log.tail.data() + done, log.tail.size() - done, static_cast<off_t>(start + done));
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return log;
}

}  // namespace

NamedFiles ReadAdditions(const PageSource& memory, TargetAddress table, Report* report) {
  if (table.value == 0) return {};
  const auto read = std::make_unique<abi::Additions>();
  if (Fails("additions") || !memory.ReadObject(table, read.get()) || read->version != abi::kAdditionsVersion ||
      read->size != sizeof *read) {
    report->losses.push_back("notes and files that the program adds: their table is damaged, or of another version");
    return {};
  }
  std::vector<abi::Addition> additions;
  for (uint32_t slot = 0; slot < abi::kAdditionSlots; ++slot)
    if (read->states[slot] > abi::kUnfinishedSlot) additions.push_back(read->slots[slot]);
  return TakeAdditions(*read, std::move(additions), report);
}

void ReadLogs(const std::vector<std::string>& logs, Report* report) {
  const auto standard_error = std::ranges::find(report->files, STDERR_FILENO, &OpenFile::descriptor);
  if (standard_error != report->files.end() && S_ISREG(standard_error->mode)) {
    // Through /proc: the very file, whatever has its name by now.
    std::optional<KeptLog> log =
        ReadTail(LogKind::kStandardError, ProcPath(report->process.pid, "fd/2"), standard_error->path);
    if (!log) report->losses.push_back("standard error: its file cannot be read");
    if (log && log->size != 0) report->logs.push_back(*std::move(log));
  }
  for (const std::string& path : logs) {
    if (std::optional<KeptLog> log = ReadTail(LogKind::kNamed, path, path))
      report->logs.push_back(*std::move(log));
    else
      report->losses.push_back("log " + path + ": it is not there, no regular file, or cannot be read");
  }
}

}  // namespace recrash
