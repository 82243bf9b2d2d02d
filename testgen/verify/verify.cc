#include "testgen/verify/verify.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "testgen/replay/input_check.h"
#include "testgen/replay/plan.h"
#include "testgen/replay/plan_builder.h"
#include "testgen/replay/subject.h"
#include "testgen/verify/choose.h"

namespace recrash {
namespace {

// Memory that the subject writes its results into.
class Results {
 public:
  explicit Results(size_t count) : size_(sizeof(plan::SharedResults) + count * sizeof(plan::FrameResult)) {
    descriptor_ = MoveHigh(memfd_create("recrash-results", 0));
    if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) return;
    void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapped != MAP_FAILED) shared_ = static_cast<plan::SharedResults*>(mapped);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    if (shared_) munmap(shared_, size_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  plan::SharedResults* get() const { return shared_; }
  // The subject may have been mad enough to overwrite them: texts are bounded here.
  std::string Problem() const { return Text(shared_->problem, sizeof shared_->problem); }
  static std::string Text(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

 private:
  size_t size_;
  int descriptor_ = -1;
  plan::SharedResults* shared_ = nullptr;
};

// What containers and batch systems leave to this process, not what the machine has.
uint32_t Processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 1;
}

std::string StatusText(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return std::string("was killed by SIG") + (name ? name : "?");
  }
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

FrameVerdict ToVerdict(const ReplayFrame& frame, const plan::FrameResult& result, const std::string& otherwise) {
  FrameVerdict verdict;
  verdict.index = frame.index;
  if (!result.done) {
    verdict.note = otherwise;
    return verdict;
  }
  verdict.verdict = result.verdict;
  verdict.depth = static_cast<uint8_t>(result.depth);
  verdict.rewound = result.rewound != 0;
  verdict.entry_state = result.entry_state != 0;
  verdict.self_contained = result.self_contained != 0;
  verdict.seconds = result.seconds;
  verdict.note = Results::Text(result.text, sizeof result.text);
  return verdict;
}

// What was read may be why it ended so, or why it will not end so elsewhere.
void NoteInputs(const std::vector<std::string>& problems, FrameVerdict* verdict) {
  if (!problems.empty() && verdict->note == "returned") verdict->note.clear();  // the verdict says so
  for (const std::string& problem : problems) verdict->note += (verdict->note.empty() ? "" : "; ") + problem;
}

}  // namespace

Result<std::vector<FrameVerdict>> VerifyFrames(const Report& report, const VerifyOptions& options,
                                               const std::function<void(size_t, size_t)>& progress) {
  std::string replay_library;
  if (!options.support_directory.empty()) {
    Result<std::string> found = FindSupportFile("librecrash_replay.so", options.support_directory);
    if (!found) return found.error();
    replay_library = *found;
  }
  Result<Subject> subject = PrepareSubject(report, options.program, replay_library);
  if (!subject) return subject.error();
  subject->allow_same_bases = options.allow_same_bases;

  const std::vector<uint32_t> frames = ChooseFrames(report.replay->frames.size(), options.max_frames);
  const Results results(frames.size());
  if (!results.get()) return Error{Errc::kRefused, std::string("cannot share memory: ") + strerror(errno)};

  PlanOptions plan_options;
  plan_options.program = subject->program.path;
  plan_options.flags = plan::kVerify | plan::kSandbox;
  plan_options.seconds_per_frame = options.seconds_per_frame;
  plan_options.memory_limit = options.memory_limit;
  plan_options.requests = frames;
  plan_options.results_fd = results.descriptor();
  plan_options.workers = options.jobs ? options.jobs : Processors();
  Result<PlanFile> plan = BuildPlan(report, subject->program, subject->rebuilt_libraries, plan_options);
  if (!plan) return plan.error();

  const auto tick = [&] {
    if (progress) progress(std::min<size_t>(results.get()->done, frames.size()), frames.size());
  };
  const Result<int> status = RunSubject(report, *subject, *plan, tick);
  if (!status) return status.error();
  const std::string problem = results.Problem();
  if (!problem.empty()) return Error{Errc::kRefused, problem};
  if (!results.get()->started) {
    return Error{Errc::kRefused, subject->program.path + " " + StatusText(*status) +
                                     " before its main was reached; its static initialisers or the loader did that"};
  }
  const std::span<const plan::FrameResult> all(results.get()->results, frames.size());
  const bool unsealed = std::ranges::any_of(all, [](const plan::FrameResult& result) { return result.unsealed != 0; });
  const std::vector<std::string> problems = unsealed ? InputProblems(report) : std::vector<std::string>();
  std::vector<FrameVerdict> verdicts;
  for (size_t i = 0; i < frames.size(); ++i) {
    verdicts.push_back(ToVerdict(report.replay->frames[frames[i]], results.get()->results[i],
                                 "the program that hosts the replays " + StatusText(*status)));
    if (all[i].unsealed != 0) NoteInputs(problems, &verdicts.back());
  }
  return verdicts;
}

}  // namespace recrash
