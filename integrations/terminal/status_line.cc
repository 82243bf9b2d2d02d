#include "integrations/terminal/status_line.h"

#include <fmt/format.h>

#include <algorithm>

namespace recrash::cli {

StatusLine::~StatusLine() {
  Clear();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ending_.notify_one();
  if (watcher_.joinable()) watcher_.join();
}

void StatusLine::Show(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (text_ != text) since_ = std::chrono::steady_clock::now();
  text_ = text;
  Write(text);
  if (!watcher_.joinable()) watcher_ = std::thread([this] { Watch(); });
}

void StatusLine::Clear() {
  const std::lock_guard lock(mutex_);
  if (text_) Write("");
  text_.reset();
}

void StatusLine::Write(const std::string& text) {
  fmt::print(out_, "\r\033[K{}", text);
  std::fflush(out_);
}

void StatusLine::Watch() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, std::min<std::chrono::milliseconds>(patience_, std::chrono::seconds(1)),
                           [this] { return ends_; })) {
    const auto stood = std::chrono::steady_clock::now() - since_;
    if (text_ && stood >= patience_)
      Write(fmt::format("{}, for {} s", *text_, std::chrono::duration_cast<std::chrono::seconds>(stood).count()));
  }
}

}  // namespace recrash::cli
