#include "testgen/replay/host/inquiries.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "testgen/replay/plan/plan_file.h"

namespace recrash {
namespace {

static_assert(kNoRegister == plan::kNoRegister);

constexpr timespec kLongestWait{0, 30'000'000};

// The files with code of the program's own, as they are loaded now.
std::vector<std::string> OwnFiles(const TestReport& report, const Subject& subject) {
  std::vector<std::string> files(report.modules.size());
  for (size_t i = 0; i < files.size(); ++i) {
    const Module& module = report.modules[i];
    if (module.is_program) {
      files[i] = subject.program.path;
    } else if (report.replay.FindImage(module) && i < subject.code.files.size()) {
      files[i] = subject.code.files[i];
    }
  }
  return files;
}

}  // namespace

Inquiries::Inquiries(const TestReport& report, const Subject& subject, std::vector<std::string> search_paths)
    : report_(report),
      files_(OwnFiles(report, subject)),
      search_paths_(std::move(search_paths)),
      file_(MakeInheritedFile("recrash-inquiries", sizeof(plan::Inquiries))) {
  void* mapped =
      mmap(nullptr, sizeof(plan::Inquiries), PROT_READ | PROT_WRITE, MAP_SHARED, file_ ? file_.get() : -1, 0);
  if (mapped != MAP_FAILED) shared_ = static_cast<plan::Inquiries*>(mapped);
}

Inquiries::~Inquiries() {
  ends_ = true;
  if (thread_.joinable()) {
    __atomic_fetch_add(&shared_->asked, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &shared_->asked, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    thread_.join();
  }
  if (shared_) munmap(shared_, sizeof *shared_);
}

// Types that do not fit are left out.
std::string Inquiries::CaughtFrom(uint32_t frame) {
  std::string text;
  if (frame == plan::kNobody) return text;
  for (const std::string& type : places_->CaughtFrom(frame)) {
    const std::string word = (type.empty() ? "*" : type) + " ";
    if (text.size() + word.size() < sizeof plan::Question::caught) text += word;
  }
  return text;
}

SourcePlaces& Inquiries::places() {
  if (!places_) places_ = std::make_unique<SourcePlaces>(report_, files_, search_paths_);
  return *places_;
}

void Inquiries::Answer(plan::Question* question) {
  // The subject may have overwritten it, and may do so now.
  plan::CodeAddress stack[plan::kMostAsked];
  memcpy(stack, question->stack, sizeof stack);
  std::vector<CodeAddress> addresses;
  const uint32_t count = __atomic_load_n(&question->count, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < std::min(count, plan::kMostAsked); ++i)
    addresses.push_back({stack[i].module, stack[i].offset, stack[i].exact != 0});
  plan::CodeAddress called;
  memcpy(&called, &question->called, sizeof called);
  std::optional<CodeAddress> function;
  if (called.module != plan::kNobody) function = {called.module, called.offset, true};
  const SeenPlace seen = places().At(addresses, function);
  question->same = !seen.same ? plan::Same::kNotKnown : *seen.same ? plan::Same::kYes : plan::Same::kNo;
  question->where[seen.where.copy(question->where, sizeof question->where - 1)] = 0;
  const std::string caught = CaughtFrom(__atomic_load_n(&question->thrower, __ATOMIC_RELAXED));
  question->caught[caught.copy(question->caught, sizeof question->caught - 1)] = 0;
  __atomic_store_n(&question->state, plan::kAnswered, __ATOMIC_RELEASE);
  syscall(SYS_futex, &question->state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Inquiries::AnswerPlace() {
  const PlaceCode code = places().RecordedPlace();
  uint32_t count = 0;
  for (const PlaceInstruction& instruction : code.instructions) {
    const auto at = places().AddressOf(instruction.at);
    if (!at || count == plan::kMostPlaceCode) continue;
    plan::PlaceCode& planned = shared_->place[count++];
    planned = {};
    planned.offset = at->offset;
    planned.module = static_cast<uint32_t>(at->module);
    planned.copy = instruction.copy;
    planned.line = instruction.line;
    planned.is_place = instruction.is_place;
    planned.base = planned.index = plan::kNoRegister;
    if (!instruction.access) continue;
    planned.displacement = instruction.access->displacement;
    planned.base = instruction.access->base;
    planned.index = instruction.access->index;
    planned.scale = instruction.access->scale;
    planned.accesses = 1;
  }
  shared_->place_where[code.where.copy(shared_->place_where, sizeof shared_->place_where - 1)] = 0;
  __atomic_store_n(&shared_->place_count, count, __ATOMIC_RELAXED);
  __atomic_store_n(&shared_->place_state, plan::kAnswered, __ATOMIC_RELEASE);
  syscall(SYS_futex, &shared_->place_state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// The subject may overwrite what it shares at any time, so a copy of it is worked on.
void Inquiries::AnswerFromTwin() {
  plan::InTwin* const shared = &shared_->in_twin;
  plan::InTwin asked;
  memcpy(&asked, shared, sizeof asked);
  asked.test[sizeof asked.test - 1] = 0;
  asked.verdict = Verdict::kCannotReplay;
  snprintf(asked.text, sizeof asked.text, "no verdict");
  run_in_twin_(&asked);
  asked.text[sizeof asked.text - 1] = 0;
  shared->verdict = asked.verdict;
  memcpy(shared->text, asked.text, sizeof asked.text);
  __atomic_store_n(&shared->state, plan::kAnswered, __ATOMIC_RELEASE);
  syscall(SYS_futex, &shared->state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Inquiries::Answer() {
  seen_ = __atomic_load_n(&shared_->asked, __ATOMIC_ACQUIRE);
  for (plan::Question& question : shared_->questions)
    if (__atomic_load_n(&question.state, __ATOMIC_ACQUIRE) == plan::kAsked) Answer(&question);
  if (__atomic_load_n(&shared_->place_state, __ATOMIC_ACQUIRE) == plan::kAsked) AnswerPlace();
  if (run_in_twin_ && __atomic_load_n(&shared_->in_twin.state, __ATOMIC_ACQUIRE) == plan::kAsked) AnswerFromTwin();
}

void Inquiries::Wait() { syscall(SYS_futex, &shared_->asked, FUTEX_WAIT, seen_, &kLongestWait, nullptr, 0); }

void Inquiries::AnswerMeanwhile() {
  if (!shared_) return;
  thread_ = std::thread([this] {
    while (!ends_) {
      Answer();
      Wait();
    }
  });
}

void Inquiries::AnswerBeside() {
  if (!shared_) return;
  const pid_t parent = getpid();
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();  // an interrupt at the debugger's terminal is not for this process
  while (getppid() == parent) {
    Answer();
    Wait();
  }
  _exit(0);
}

}  // namespace recrash
