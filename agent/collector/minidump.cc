// Breakpad writes into memory, so that nothing is on the disk of what is taken out afterwards.
#include "agent/collector/minidump.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/file_io.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/collector/breakpad_writer.h"
#include "google_breakpad/common/minidump_exception_linux.h"
#include "google_breakpad/common/minidump_format.h"

namespace recrash {
namespace {

google_breakpad::ExceptionHandler::CrashContext ContextOf(const abi::CrashRecord& record) {
  google_breakpad::ExceptionHandler::CrashContext context = {};
  context.siginfo = record.siginfo;
  if (record.kind == abi::FailureKind::kReported)
    context.siginfo.si_signo = static_cast<int>(MD_EXCEPTION_CODE_LIN_DUMP_REQUESTED);
  context.tid = record.tid;
  context.context = record.context;
  static_assert(sizeof context.float_state == sizeof record.fpstate);
  std::memcpy(&context.float_state, record.fpstate, sizeof record.fpstate);
  return context;
}

// The object at an offset of the minidump; zero where it is not whole.
template <typename T>
T At(std::span<const uint8_t> dump, uint64_t offset) {
  T object = {};
  if (offset <= dump.size() && dump.size() - offset >= sizeof object)
    std::memcpy(&object, dump.data() + offset, sizeof object);
  return object;
}

void ZeroWithin(const MDMemoryDescriptor& memory, const Mapping& mapping, std::span<uint8_t> dump) {
  const uint64_t size = memory.memory.data_size;
  if (memory.memory.rva > dump.size() || dump.size() - memory.memory.rva < size) return;
  const uint64_t from = std::max(memory.start_of_memory_range, mapping.start.value);
  const uint64_t to = std::min(memory.start_of_memory_range + size, mapping.end.value);
  if (from < to) std::memset(&dump[memory.memory.rva + (from - memory.start_of_memory_range)], 0, to - from);
}

// All memory in a minidump, stacks among it, stands in its list of memory.
void ZeroWithheld(const std::vector<Mapping>& mappings, std::span<uint8_t> dump) {
  const auto header = At<MDRawHeader>(dump, 0);
  for (uint32_t i = 0; i < header.stream_count; ++i) {
    const auto stream = At<MDRawDirectory>(dump, header.stream_directory_rva + i * sizeof(MDRawDirectory));
    if (stream.stream_type != MD_MEMORY_LIST_STREAM) continue;
    const auto count = At<uint32_t>(dump, stream.location.rva);
    for (uint32_t j = 0; j < count; ++j) {
      const uint64_t at = stream.location.rva + sizeof count + uint64_t{j} * sizeof(MDMemoryDescriptor);
      const auto memory = At<MDMemoryDescriptor>(dump, at);
      for (const Mapping& mapping : mappings)
        if (mapping.flags & kMapWithheld) ZeroWithin(memory, mapping, dump);
    }
  }
}

}  // namespace

std::vector<uint8_t> MakeMinidump(const StoppedProcess& process, const PageSource& memory,
                                  const abi::CrashRecord& record) {
  Fd file(memfd_create("minidump", MFD_CLOEXEC));
  struct stat status;
  if (Fails("minidump") || !file || !WriteMinidumpOf(process, memory, ContextOf(record), file.get()) ||
      fstat(file.get(), &status) != 0)
    return {};
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  if (pread(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  return bytes;
}

void HideInMinidump(const std::vector<Mapping>& mappings, const Discretion& discretion, std::vector<uint8_t>* dump) {
  ZeroWithheld(mappings, *dump);
  discretion.Mask(*dump);
}

Status WriteMinidump(const std::string& path, const std::vector<uint8_t>& dump) {
  Result<OutputFile> file = OutputFile::CreateNew(path, "minidump");
  if (!file) return file.error();
  file->WriteAt(0, dump.data(), dump.size());
  return file->Keep();
}

}  // namespace recrash
