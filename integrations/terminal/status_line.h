// One line on a terminal that is overwritten, and gone in the end. Where what it says takes long, it says for how long.
//
//   StatusLine line(stderr);
//   line.Show("replaying frame 1/2");  // after some seconds: "replaying frame 1/2, for 12 s"
//   line.Clear();
#ifndef RECRASH_INTEGRATIONS_TERMINAL_STATUS_LINE_H_
#define RECRASH_INTEGRATIONS_TERMINAL_STATUS_LINE_H_

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace recrash::cli {

class StatusLine {
 public:
  // Text that stands longer than `patience` is said to.
  explicit StatusLine(std::FILE* out, std::chrono::milliseconds patience = std::chrono::seconds(3))
      : out_(out), patience_(patience) {}
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine();

  void Show(const std::string& text);
  void Clear();

 private:
  void Watch();
  void Write(const std::string& text);

  std::FILE* out_;
  std::chrono::milliseconds patience_;
  std::mutex mutex_;  // of all below
  std::condition_variable ending_;
  bool ends_ = false;
  std::optional<std::string> text_;  // none: nothing stands there
  std::chrono::steady_clock::time_point since_;
  std::thread watcher_;  // from the first text on
};

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_TERMINAL_STATUS_LINE_H_
