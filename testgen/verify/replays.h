// Requests worked off by the subject. The plan is written once; each Run is a start of the subject of its own, so that
// what the kernel draws at a start (addresses, stack canary) is drawn anew.
#ifndef RECRASH_TESTGEN_VERIFY_REPLAYS_H_
#define RECRASH_TESTGEN_VERIFY_REPLAYS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/host/subject.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/replay/plan/plan_builder.h"
#include "testgen/verify/verify.h"

namespace recrash {

// Memory that the subject writes its results into.
class SharedResults {
 public:
  explicit SharedResults(size_t count);
  SharedResults(const SharedResults&) = delete;
  SharedResults& operator=(const SharedResults&) = delete;
  ~SharedResults();

  int descriptor() const { return descriptor_; }
  plan::SharedResults* get() const { return shared_; }
  void Clear();
  // The subject may have been mad enough to overwrite them: texts are bounded here.
  std::string Problem() const { return Text(shared_->problem, sizeof shared_->problem); }
  static std::string Text(const char* text, size_t size);

 private:
  size_t size_;
  int descriptor_ = -1;
  plan::SharedResults* shared_ = nullptr;
};

class Replays {
 public:
  // For as many requests at a time as `requests` has, which are the first to run.
  static Result<Replays> Prepare(const Report& report, const VerifyOptions& options,
                                 const std::vector<plan::Request>& requests);

  // One request, whose replay waits before its call. `trace` is given its process, and says when the call may begin;
  // the replay has ended, or goes on alone, when it comes back.
  using Trace = std::function<void(pid_t process, const std::function<void()>& begin)>;
  Result<FrameVerdict> RunHeld(plan::Request request, const Trace& trace);

  // A verdict for each request. `progress` is called with the number of those that are done.
  Result<std::vector<FrameVerdict>> Run(const std::vector<plan::Request>& requests,
                                        const std::function<void(size_t)>& progress);

 private:
  Result<std::vector<FrameVerdict>> RunWith(const std::vector<plan::Request>& requests,
                                            const std::function<void()>& tick);
  Replays(const Report& report, Subject subject, std::unique_ptr<SharedResults> results, PlanFile plan)
      : report_(&report), subject_(std::move(subject)), results_(std::move(results)), plan_(std::move(plan)) {}

  const Report* report_;
  Subject subject_;
  std::unique_ptr<SharedResults> results_;
  PlanFile plan_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_REPLAYS_H_
