// A report of this very process, as it is where this is called: a stack whose functions a test can choose.
#ifndef RECRASH_AGENT_STORE_TESTING_OWN_STACK_H_
#define RECRASH_AGENT_STORE_TESTING_OWN_STACK_H_

#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "agent/base/signal_safe/own_memory.h"
#include "agent/report/crash_record.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "agent/report/report.h"

namespace recrash {

// By the kernel: to sanitizers, what lies between variables is not to be read.
inline std::vector<uint8_t> OwnBytes(TargetAddress from, TargetAddress to) {
  std::vector<uint8_t> bytes(to - from);
  bytes.resize(signal_safe::ReadOwnAnyhow(from.value, bytes.data(), bytes.size()));
  return bytes;
}

// Inlined, so that the caller is the innermost frame.
__attribute__((always_inline)) inline void TakeOwnStack(Report* report) {
  ucontext_t context;
  getcontext(&context);
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Thread& thread = report->threads.emplace_back();
  thread.failing = true;
  for (size_t i = 0; i < thread.registers.dwarf.size(); ++i)
    thread.registers.dwarf[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[i]]);
  std::ifstream maps("/proc/self/maps");
  report->mappings = ParseMaps(std::string(std::istreambuf_iterator<char>(maps), {}));
  report->process.program = std::filesystem::read_symlink("/proc/self/exe");
  TakeModules(LookupFiles(), report);
  const TargetAddress sp = {thread.registers.sp()};
  for (const Mapping& mapping : report->mappings)
    if (mapping.start <= sp && sp < mapping.end) report->memory.push_back({sp, OwnBytes(sp, mapping.end)});
  report->failure.signal = SIGSEGV;
}

}  // namespace recrash

#endif  // RECRASH_AGENT_STORE_TESTING_OWN_STACK_H_
