#include "agent/client/address_space/rights.h"

#include <linux/futex.h>
#include <sys/uio.h>

#include <algorithm>

#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/system_call.h"

namespace recrash::client {
namespace {

using signal_safe::Call;
using signal_safe::CopyOwnAnyhow;
using signal_safe::kPage;

constexpr uint32_t kAtOnce = 1024;  // UIO_MAXIOV

uint32_t g_nobody;  // no thread waits for it

}  // namespace

uint32_t ReadablePages(uint64_t start, uint32_t most) {
  static iovec from[kAtOnce];
  static uint8_t bytes[kAtOnce];
  const uint32_t count = std::min(most, kAtOnce);
  for (uint32_t i = 0; i < count; ++i) from[i] = {reinterpret_cast<void*>(start + i * kPage), 1};
  const iovec to = {bytes, count};
  const long got = CopyOwnAnyhow(from, count, &to, 1);
  return got > 0 ? static_cast<uint32_t>(got) : 0;
}

// "Or nothing" to the last word, by the kernel and at once. Who waits for that word looks again, as he has to.
bool IsWritablePage(uint64_t page) {
  constexpr uint32_t kOrNothing = FUTEX_OP_OR << 28 | FUTEX_OP_CMP_LT << 24 | 0x800;
  return Call(SYS_futex, &g_nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, page + kPage - sizeof(uint32_t),
              kOrNothing) >= 0;
}

}  // namespace recrash::client
