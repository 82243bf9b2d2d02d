// A program that is run under ptrace, so that it can be looked at whenever it enters one of some functions.
//
// Either it is started here (Run): address space randomisation is off, so that runs of one program on one input have
// the same addresses; nothing else is done to it, and when it starts its crash collector, which has to trace it itself,
// it is let go. Or it is there already and waits for us (Join).
#ifndef RECRASH_AGENT_PROCESS_TRACED_PROGRAM_H_
#define RECRASH_AGENT_PROCESS_TRACED_PROGRAM_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/result.h"

namespace recrash {

struct TracedStart {
  std::string program;
  std::vector<std::string> arguments;    // argv, the program's name included
  std::vector<std::string> environment;  // NAME=value
  std::string directory;                 // to run in
  int output = -1;                       // where it prints, errors too; -1: nowhere
  double seconds = 60;                   // then it is killed
};

enum class AtEntry { kGoOn, kDisarm, kLetGo };

class TracedProgram {
 public:
  // Time to arm: all that is linked into the program is loaded, nothing of it but initialisers of libraries has run.
  // And again whenever it has loaded something by dlopen, before that runs.
  using OnLoaded = std::function<void(TracedProgram&)>;
  // A thread stands at the first instruction of an armed function, where `sp` points to the return address.
  using OnEntry = std::function<AtEntry(TracedProgram&, uint64_t entry, uint64_t sp)>;

  // A thread, stopped(), is about to get a signal. True: it does not, and goes on.
  using OnSignal = std::function<bool(TracedProgram&, int signal)>;

  TracedProgram(OnLoaded on_loaded, OnEntry on_entry, OnSignal on_signal = {})
      : on_loaded_(std::move(on_loaded)), on_entry_(std::move(on_entry)), on_signal_(std::move(on_signal)) {}

  // Until the program has ended; gives its wait status. kRefused when the machine does not let it be traced or the time
  // is over.
  Result<int> Run(const TracedStart& start);

  // Of a process that somebody else has started, all of whose threads and children are in a process group of its own.
  // It waits until `begin` is called, when OnLoaded has been; that of libraries which it loads later is not. It is
  // killed in place of being let go, or when it does not end in time.
  Result<int> Join(pid_t process, double seconds, const std::function<void()>& begin);

  // Where nothing is mapped yet, nothing is done.
  void Arm(uint64_t entry);
  void Disarm(uint64_t entry);
  pid_t pid() const { return pid_; }
  // The thread that stands at an entry, within OnEntry, or that gets a signal, within OnSignal.
  pid_t stopped() const { return stopped_; }

 private:
  Result<int> Start(const TracedStart& start);
  Status Seize(pid_t process);
  Result<int> FollowFor(double seconds);
  Result<int> Follow();
  void Stopped(pid_t who, int status);
  void Executed(pid_t who);
  bool TakesSignal(pid_t who, int signal);
  void Forked(pid_t child);
  void Trapped(pid_t who);
  void EnteredProgram(pid_t who, user_regs_struct* registers);
  bool EmulatePush(user_regs_struct* registers, uint64_t entry) const;
  void StepOver(pid_t who, uint64_t entry);
  void DisarmIn(pid_t child) const;
  void LetGo();
  void DetachAll() const;
  void Detach(pid_t thread) const;
  void Continue(pid_t who, int signal = 0);
  bool Write(uint64_t address, const void* bytes, size_t size) const;

  OnLoaded on_loaded_;
  OnEntry on_entry_;
  OnSignal on_signal_;
  pid_t pid_ = 0;
  pid_t stopped_ = 0;
  Fd memory_;
  uint64_t program_entry_ = 0;                      // AT_ENTRY, while it has not been reached
  uint64_t loader_break_ = 0;                       // reached when a library has been loaded; 0: there is no loader
  std::map<uint64_t, std::vector<uint8_t>> armed_;  // original bytes
  std::set<pid_t> threads_;
  std::set<pid_t> children_;  // processes that it forked and that have not been let go
  std::set<pid_t> early_;     // stopped before we were told what they are
  bool started_ = false;
  bool joined_ = false;
  bool gone_ = false;  // let go: runs on its own
};

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_TRACED_PROGRAM_H_
