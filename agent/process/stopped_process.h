// All threads of another process, held by ptrace until the object goes.
#ifndef RECRASH_AGENT_PROCESS_STOPPED_PROCESS_H_
#define RECRASH_AGENT_PROCESS_STOPPED_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

class StoppedProcess {
 public:
  // Holds `failing` or fails with kRefused. A thread that cannot be held (it has exited and is not yet gone, or waits
  // in the kernel) is left out with a sentence in `losses`.
  static Result<StoppedProcess> Attach(pid_t pid, pid_t failing, std::vector<std::string>* losses);

  StoppedProcess(StoppedProcess&& other) noexcept;
  StoppedProcess(const StoppedProcess&) = delete;
  ~StoppedProcess() { Detach(); }

  pid_t pid() const { return pid_; }
  bool Holds(pid_t thread) const { return threads_.contains(thread); }
  void Detach();
  // Of every thread that is held, in the order of their ids. What could not be read goes into `losses`.
  std::vector<Thread> ReadThreads(std::vector<std::string>* losses) const;

 private:
  explicit StoppedProcess(pid_t pid) : pid_(pid) {}

  enum class Why { kRefused, kGone, kBusy };

  static bool Seize(pid_t tid, bool interrupt = true);
  bool SeizeNew();
  bool TakeStopped();
  void WaitForStops();
  void SayWhoIsMissing(std::vector<std::string>* losses) const;

  pid_t pid_;
  std::map<pid_t, int> threads_;  // with the signal that was about to be delivered, or 0
  std::set<pid_t> waited_for_;
  std::map<pid_t, Why> left_out_;
  bool knows_all_ = true;  // /proc lists the threads
};

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_STOPPED_PROCESS_H_
