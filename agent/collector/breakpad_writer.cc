// Breakpad stops the threads itself, one after the other, and waits for each: with a hundred threads that run on two
// processors that takes 25 s. Its writer takes any dumper, but its class is hidden in its source, so the source is
// included here.
#include "agent/collector/breakpad_writer.h"

#include "client/linux/minidump_writer/minidump_writer.cc"

namespace recrash {
namespace {

class HeldProcessDumper final : public google_breakpad::LinuxPtraceDumper {
 public:
  HeldProcessDumper(const StoppedProcess& process, const PageSource& memory)
      : LinuxPtraceDumper(process.pid()), process_(process), memory_(memory) {}

  bool ThreadsSuspend() override {
    size_t held = 0;
    for (const pid_t thread : threads_)
      if (process_.Holds(thread)) threads_[held++] = thread;
    threads_.resize(held);
    return held != 0;
  }
  bool ThreadsResume() override { return true; }

  // Breakpad's own asks ptrace for each word.
  bool CopyFromProcess(void* to, pid_t, const void* from, size_t size) override {
    const std::span<uint8_t> bytes(static_cast<uint8_t*>(to), size);
    const size_t got = memory_.Read({reinterpret_cast<uint64_t>(from)}, bytes);
    std::ranges::fill(bytes.subspan(got), uint8_t{0});
    return true;
  }

 private:
  const StoppedProcess& process_;
  const PageSource& memory_;
};

}  // namespace

bool WriteMinidumpOf(const StoppedProcess& process, const PageSource& memory,
                     const google_breakpad::ExceptionHandler::CrashContext& crash, int descriptor) {
  HeldProcessDumper dumper(process, memory);
  dumper.SetCrashInfoFromSigInfo(crash.siginfo);
  dumper.set_crash_thread(crash.tid);
  const google_breakpad::MappingList mappings;  // the writer keeps references
  const google_breakpad::AppMemoryList memory_blocks;
  MinidumpWriter writer(nullptr, descriptor, &crash, mappings, memory_blocks, false, 0, false, &dumper);
  return writer.Init() && writer.Dump();
}

}  // namespace recrash
