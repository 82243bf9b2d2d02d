// Patches an XRay program at its start, when BENCH_XRAY_PATCH is set, with a handler that keeps each call's function
// and first argument in a ring of the thread: the nearest that XRay has to a record of arguments.
#include <xray/xray_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr uint64_t kEntries = 256;  // 4 KiB, which glibc touches in each new thread

struct Call {
  uint64_t function;
  uint64_t argument;
};

struct Ring {
  uint64_t next;
  Call calls[kEntries];
};

thread_local Ring ring __attribute__((tls_model("initial-exec")));

[[clang::xray_never_instrument]] void KeepArgument(int32_t function, XRayEntryType, uint64_t argument) {
  ring.calls[ring.next++ % kEntries] = {static_cast<uint64_t>(function), argument};
}

[[gnu::constructor]] void Patch() {
  if (!std::getenv("BENCH_XRAY_PATCH")) return;
  if (!__xray_set_handler_arg1(KeepArgument) || __xray_patch() != XRayPatchingStatus::SUCCESS) {
    std::fputs("xray_log: patching failed\n", stderr);
    std::_Exit(3);
  }
}

// How many calls the main thread made: shows that the handler was really called.
[[gnu::destructor]] void Report() {
  if (std::getenv("BENCH_XRAY_COUNT"))
    std::fprintf(stderr, "xray_log: %llu calls\n", static_cast<unsigned long long>(ring.next));
}

}  // namespace
