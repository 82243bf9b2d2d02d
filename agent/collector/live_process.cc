#include "agent/collector/live_process.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/register_order.h"
#include "agent/base/signal_safe/text.h"
#include "agent/process/proc_files.h"

namespace recrash {
namespace {

// Of a process that is not dumpable, the files in /proc belong to root. Root's own show no difference.
bool IsDumpable(pid_t pid) {
  struct stat folder, file;
  return stat(ProcPath(pid, "").c_str(), &folder) != 0 || stat(ProcPath(pid, "task").c_str(), &file) != 0 ||
         folder.st_uid == file.st_uid;
}

bool IsIn(const Mapping& mapping, const Module& module) {
  return mapping.start >= module.base && mapping.end <= module.base + module.size;
}

bool ReadPlaces(const PageSource& memory, TargetAddress address, abi::ClientPlaces* places) {
  return memory.ReadObject(address, places) && places->self == address.value;
}

// The client's data begins with it at some word.
bool FindIn(const PageSource& memory, const Mapping& mapping, abi::ClientPlaces* places) {
  constexpr uint64_t kMost = 256 << 20;
  std::vector<uint8_t> bytes(std::min(mapping.end - mapping.start, kMost));
  bytes.resize(memory.Read(mapping.start, bytes));
  for (auto at = bytes.begin();; ++at) {
    at = std::search(at, bytes.end(), reinterpret_cast<const uint8_t*>(abi::kPlacesMagic),
                     reinterpret_cast<const uint8_t*>(abi::kPlacesMagic) + sizeof abi::kPlacesMagic);
    if (at == bytes.end()) return false;
    if (ReadPlaces(memory, mapping.start + static_cast<uint64_t>(at - bytes.begin()), places)) return true;
  }
}

}  // namespace

abi::CrashRecord RecordOfLive(pid_t pid, const Thread& thread) {
  abi::CrashRecord record = {};
  record.magic = abi::kCrashMagic;
  record.version = abi::kCrashVersion;
  record.size = sizeof record;
  record.kind = abi::FailureKind::kReported;
  record.pid = pid;
  record.tid = thread.id;
  record.monotonic_ns = signal_safe::Nanoseconds(CLOCK_MONOTONIC);
  record.without_memory = IsDumpable(pid) ? 0 : abi::kNotDumpable;
  signal_safe::CopyText(record.reason, "recrash dump");
  for (int i = 0; i < abi::kRegisterCount; ++i)
    record.context.uc_mcontext.gregs[kContextRegisters[i]] = static_cast<greg_t>(thread.registers.dwarf[i]);
  record.context.uc_mcontext.gregs[REG_EFL] = static_cast<greg_t>(thread.registers.eflags);
  std::memcpy(record.fpstate, thread.registers.fxsave.data(),
              std::min(sizeof record.fpstate, thread.registers.fxsave.size()));
  return record;
}

abi::ClientPlaces FindClient(const PageSource& memory, const Report& report) {
  abi::ClientPlaces places = {};
  for (const Mapping& mapping : report.mappings) {
    if ((mapping.flags & (kMapRead | kMapExecute | kMapShared)) != kMapRead) continue;
    const bool is_of_module =
        std::ranges::any_of(report.modules, [&](const Module& module) { return IsIn(mapping, module); });
    if (is_of_module && FindIn(memory, mapping, &places)) return places;
  }
  return {};
}

}  // namespace recrash
