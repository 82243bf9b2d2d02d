#include "testgen/verify/replays.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "testgen/replay/host/input_check.h"

namespace recrash {
namespace {

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
  verdict.start = result.start;
  verdict.seconds = result.seconds;
  verdict.note = SharedResults::Text(result.text, sizeof result.text);
  return verdict;
}

// The outcome is one with the files that are there now.
bool IsUnsealed(const plan::FrameResult& result) { return result.tried && !result.start.sealed; }

// What was read may be why it ended so, or why it will not end so elsewhere.
void NoteInputs(const std::vector<std::string>& problems, FrameVerdict* verdict) {
  if (!problems.empty() && verdict->note == "returned") verdict->note.clear();  // the verdict says so
  for (const std::string& problem : problems) verdict->note += (verdict->note.empty() ? "" : "; ") + problem;
}

Result<std::string> ReplayLibrary(const VerifyOptions& options) {
  if (options.support_directory.empty()) return std::string();
  return FindSupportFile("librecrash_replay.so", options.support_directory);
}

}  // namespace

SharedResults::SharedResults(size_t count) : size_(sizeof(plan::SharedResults) + count * sizeof(plan::FrameResult)) {
  descriptor_ = MoveHigh(memfd_create("recrash-results", 0));
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) return;
  void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped != MAP_FAILED) shared_ = static_cast<plan::SharedResults*>(mapped);
}

SharedResults::~SharedResults() {
  if (shared_) munmap(shared_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedResults::Clear() { memset(static_cast<void*>(shared_), 0, size_); }

std::string SharedResults::Text(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

Result<Replays> Replays::Prepare(const Report& report, const VerifyOptions& options,
                                 const std::vector<plan::Request>& requests) {
  const Result<std::string> replay_library = ReplayLibrary(options);
  if (!replay_library) return replay_library.error();
  Result<Subject> subject = PrepareSubject(report, options.program, *replay_library);
  if (!subject) return subject.error();
  subject->allow_same_bases = options.allow_same_bases;
  auto results = std::make_unique<SharedResults>(requests.size());
  if (!results->get()) return Error{Errc::kRefused, std::string("cannot share memory: ") + strerror(errno)};

  PlanOptions plan_options;
  plan_options.program = subject->program.path;
  plan_options.flags = plan::kVerify | plan::kSandbox;
  plan_options.seconds_per_frame = options.seconds_per_frame;
  plan_options.memory_limit = options.memory_limit;
  plan_options.requests = requests;
  plan_options.results_fd = results->descriptor();
  plan_options.workers = options.jobs ? options.jobs : Processors();
  Result<PlanFile> plan = BuildPlan(report, subject->program, subject->rebuilt_libraries, plan_options);
  if (!plan) return plan.error();
  return Replays(report, *std::move(subject), std::move(results), *std::move(plan));
}

Result<std::vector<FrameVerdict>> Replays::Run(const std::vector<plan::Request>& requests,
                                               const std::function<void(size_t)>& progress) {
  const plan::SharedResults* shared = results_->get();
  return RunWith(requests, [&] { progress(std::min<size_t>(shared->done, requests.size())); });
}

Result<FrameVerdict> Replays::RunHeld(plan::Request request, const Trace& trace) {
  plan::FrameResult& result = results_->get()->results[0];
  bool traced = false;
  request.again = 1;
  request.held = 1;
  const auto tick = [&] {
    const pid_t process = __atomic_load_n(&result.held, __ATOMIC_ACQUIRE);
    if (process <= 0 || traced) return;
    traced = true;
    const auto begin = [&] {
      __atomic_store_n(&result.go, 1, __ATOMIC_RELEASE);
      syscall(SYS_futex, &result.go, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    };
    trace(process, begin);
    begin();  // it was not traced, if it waits still
  };
  Result<std::vector<FrameVerdict>> verdicts = RunWith({request}, tick);
  if (!verdicts) return verdicts.error();
  return verdicts->front();
}

Result<std::vector<FrameVerdict>> Replays::RunWith(const std::vector<plan::Request>& requests,
                                                   const std::function<void()>& tick) {
  if (const Status status = plan_.ChangeRequests(requests); !status) return status.error();
  results_->Clear();
  const plan::SharedResults* shared = results_->get();
  const Result<int> status = RunSubject(*report_, subject_, plan_, tick);
  if (!status) return status.error();
  const std::string problem = results_->Problem();
  if (!problem.empty()) return Error{Errc::kRefused, problem};
  if (!shared->started) {
    return Error{Errc::kRefused, subject_.program.path + " " + StatusText(*status) +
                                     " before its main was reached; its static initialisers or the loader did that"};
  }
  const std::span<const plan::FrameResult> all(shared->results, requests.size());
  const bool unsealed = std::ranges::any_of(all, IsUnsealed);
  const std::vector<std::string> problems = unsealed ? InputProblems(*report_) : std::vector<std::string>();
  std::vector<FrameVerdict> verdicts;
  for (size_t i = 0; i < requests.size(); ++i) {
    verdicts.push_back(ToVerdict(report_->replay->frames[requests[i].frame], all[i],
                                 "the program that hosts the replays " + StatusText(*status)));
    const EntryState* state = report_->replay->FindEntryState(verdicts.back().index);
    if (verdicts.back().start.from_entry && state) verdicts.back().derived_from = state->derived_from;
    if (IsUnsealed(all[i])) NoteInputs(problems, &verdicts.back());
  }
  return verdicts;
}

}  // namespace recrash
