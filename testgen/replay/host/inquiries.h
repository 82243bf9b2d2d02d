// Answers what the subject asks while it replays: where in the source a replay died, and what a test says in the twin
// (plan::Inquiries).
//
//   Inquiries inquiries(report, subject, search_paths);
//   plan_options.inquiries_fd = inquiries.descriptor();
//   inquiries.AnswerMeanwhile();
//   RunSubject(report, subject, plan, nullptr);
#ifndef RECRASH_TESTGEN_REPLAY_HOST_INQUIRIES_H_
#define RECRASH_TESTGEN_REPLAY_HOST_INQUIRIES_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/base/fd.h"
#include "agent/report/report.h"
#include "testgen/replay/host/subject.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/symbols/source_place.h"

namespace recrash {

class Inquiries {
 public:
  // REQUIRES: the report outlives the object.
  Inquiries(const TestReport& report, const Subject& subject, std::vector<std::string> search_paths);
  Inquiries(const Inquiries&) = delete;
  Inquiries& operator=(const Inquiries&) = delete;
  ~Inquiries();

  // For the plan; -1 if memory could not be shared.
  int descriptor() const { return shared_ ? file_.get() : -1; }

  // Has tests run in the twin: `run` fills in verdict and text, which are "no verdict" at first.
  void RunInTwin(std::function<void(plan::InTwin*)> run) { run_in_twin_ = std::move(run); }
  // What the test of this subject, a twin, said of its frame.
  const plan::InTwin* in_twin() const { return shared_ ? &shared_->in_twin : nullptr; }

  // Answers in a thread, as long as the object lives.
  void AnswerMeanwhile();
  // Answers in a process of its own until this one has ended, for a subject that this process execs.
  void AnswerBeside();

 private:
  void Answer();
  // Returns when something is asked, or after a few hundredths of a second.
  void Wait();
  void Answer(plan::Question* question);
  void AnswerPlace();
  SourcePlaces& places();
  void AnswerFromTwin();
  std::string CaughtFrom(uint32_t frame);

  const TestReport& report_;
  std::vector<std::string> files_;  // of the modules
  std::vector<std::string> search_paths_;
  Fd file_;
  plan::Inquiries* shared_ = nullptr;
  uint32_t seen_ = 0;
  std::unique_ptr<SourcePlaces> places_;  // opened at the first question
  std::function<void(plan::InTwin*)> run_in_twin_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_INQUIRIES_H_
