#include "testgen/rerun/output_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace recrash {
namespace {

constexpr size_t kMost = 1500;  // bytes: some twenty lines

}  // namespace

OutputTail::OutputTail() : stop_(eventfd(0, EFD_CLOEXEC)) {
  int ends[2];
  if (!stop_ || pipe2(ends, O_CLOEXEC) != 0) return;
  reading_ = Fd(ends[0]);
  writing_ = Fd(ends[1]);
  fcntl(reading_.get(), F_SETFL, O_NONBLOCK);
  thread_ = std::thread([this] { Read(); });
}

void OutputTail::Read() {
  char buffer[65536];
  for (;;) {
    pollfd both[] = {{reading_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(both, 2, -1) < 0 && errno != EINTR) return;
    const ssize_t got = read(reading_.get(), buffer, sizeof buffer);
    if (got > 0) {
      text_.append(buffer, static_cast<size_t>(got));
      if (text_.size() > kMost) text_.erase(0, text_.size() - kMost);
    }
    if (got == 0 || (got < 0 && both[1].revents != 0)) return;
  }
}

std::string OutputTail::Take() {
  if (!thread_.joinable()) return std::exchange(text_, "");
  writing_ = Fd();
  const uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) != sizeof one) return "";
  thread_.join();
  if (text_.size() == kMost && text_.find('\n') < kMost / 2) text_.erase(0, text_.find('\n') + 1);
  return std::exchange(text_, "");
}

}  // namespace recrash
