#include "testgen/verify/experiments.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>

namespace recrash {
namespace {

Seen SeenIn(const plan::Slot& slot) {
  return {.verdict = slot.verdict,
          .code = slot.code,
          .address = {slot.address},
          .pc = {slot.pc},
          .seconds = slot.computed,
          .note = std::string(slot.text, strnlen(slot.text, sizeof slot.text))};
}

}  // namespace

Result<std::unique_ptr<Experiments>> Experiments::Begin(const TestReport& report, const VerifyOptions& options,
                                                        uint32_t frame, const Start& start) {
  Result<Replays> replays = Replays::Prepare(report, options, {}, kMostPieces);
  if (!replays) return replays.error();
  if (replays->inquiries_)
    return Error{Errc::kRefused, replays->subject_.program.path +
                                     ": needed the build that crashed, found another one, or with other libraries"};
  std::unique_ptr<Experiments> experiments(new Experiments(*std::move(replays), frame, start));
  plan::Header header{};
  const ssize_t read = pread(experiments->replays_.plan_.get(), &header, sizeof header, 0);
  experiments->is_overflow_ = read == sizeof header && (header.flags & plan::kStackOverflow);
  experiments->replays_.queue_->Clear();
  // The thread that starts a process is its parent: the subject is killed when that ends.
  experiments->runner_ = std::thread([own = experiments.get()] {
    own->how_ = own->replays_.RunToEnd(nullptr);
    own->ended_.store(true, std::memory_order_release);
    own->replays_.queue_->NoteEvent();
  });
  return experiments;
}

Experiments::~Experiments() {
  replays_.queue_->Close();
  runner_.join();
}

void Experiments::Post(std::span<const Experiment> experiments) {
  SharedQueue& queue = *replays_.queue_;
  for (size_t slot = 0; slot < places_.size() && begun_ < experiments.size(); ++slot) {
    if (places_[slot]) continue;
    const Experiment& next = experiments[begun_];
    places_[slot] = begun_++;
    queue.Post(slot, frame_, start_, {next.pieces, next.fill, next.limit});
  }
  queue.Announce();
}

// Returns whether there was an outcome.
bool Experiments::Take(std::vector<Seen>* seen) {
  bool any = false;
  for (size_t slot = 0; slot < places_.size(); ++slot) {
    if (!places_[slot]) continue;
    const plan::Slot& shared = replays_.queue_->slot(slot);
    const uint32_t state = __atomic_load_n(&shared.state, __ATOMIC_ACQUIRE);
    if (state != plan::kDone && state != plan::kLost) continue;
    if (state == plan::kDone) (*seen)[*places_[slot]] = SeenIn(shared);
    places_[slot].reset();
    ++count_;
    any = true;
  }
  return any;
}

Error Experiments::WhyEnded() {
  if (!how_) return how_.error();
  return Error{Errc::kRefused, "the program that hosts the replays " + *how_};
}

Result<std::vector<Seen>> Experiments::Run(std::span<const Experiment> experiments) {
  for (const Experiment& one : experiments)
    if (one.pieces.size() > kMostPieces)
      return Error{Errc::kRefused, "memory is in more than " + std::to_string(kMostPieces) + " pieces"};
  std::vector<Seen> seen(experiments.size());
  const auto is_done = [&] {
    return begun_ == experiments.size() && std::ranges::none_of(places_, &std::optional<size_t>::has_value);
  };
  begun_ = 0;
  for (Post(experiments); !is_done();) {
    const uint32_t events = replays_.queue_->events();
    if (Take(&seen)) {
      if (begun_ < experiments.size()) Post(experiments);
      continue;
    }
    if (ended_.load(std::memory_order_acquire)) return WhyEnded();
    replays_.queue_->WaitForEvent(events);
  }
  return seen;
}

}  // namespace recrash
