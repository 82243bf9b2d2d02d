#include "agent/client/record/sweep.h"

namespace recrash::record {
namespace {

constexpr uint64_t kHot = 5000;            // entries a second, from where a function may go back to its own entry
constexpr uint64_t kUnbearable = 5000000;  // then it goes back even if no other function is left to bring it in again
constexpr uint8_t kShortestOut = 5;        // doublings of Policy::kFirstRest: 8 s, or changing its page pays not

int32_t* CounterOf(const LogFunction& function) { return reinterpret_cast<int32_t*>(function.counter); }

// Adds entries that were only counted to its entries; after `skipped` more the next one calls the recorder.
void SetCounter(LogFunction& function, int32_t skipped) {
  int32_t* const counter = CounterOf(function);
  function.entries += static_cast<uint64_t>(int64_t{function.skip} - *counter);
  function.skip = skipped;
  *counter = skipped;
}

uint64_t EntriesOf(const LogFunction& function) {
  return function.entries + static_cast<uint64_t>(int64_t{function.skip} - *CounterOf(function));
}

}  // namespace

void Sweep::List::Add(LogFunction* function) {
  if (count == kMost) return;
  size_t i = count++;
  for (; i != 0 && at[i - 1]->counter > function->counter; --i) at[i] = at[i - 1];
  at[i] = function;
}

uint64_t Sweep::List::Switch(bool patched, bool alone, SwitchEntries switch_entries) const {
  uint64_t counters[kMost];
  for (size_t i = 0; i < count; ++i) counters[i] = at[i]->counter;
  return switch_entries(counters, count, patched, alone);
}

void Sweep::Look(LogFunction& function, uint64_t now, uint64_t hot) {
  if (function.counter == 0) return;
  const bool rested = now >= function.rest_until_ns;
  if (function.place == Place::kOut) {
    if (rested) in_.Add(&function);
    return;
  }
  const uint64_t entries = EntriesOf(function), fresh = entries - function.swept;
  function.swept = entries;
  entries_ += fresh;
  // A function of a profile may have rested already when the sweep looks: its rate alone counts.
  const bool too_often = fresh >= (rested ? 4 * hot : hot) || (!rested && function.place == Place::kProbation);
  if (too_often && out_.count < kMost)
    out_.Add(&function);
  else
    others_ += fresh != 0 ? 1 : 0;
  if (rested && function.skip > 0) SetCounter(function, 0);
}

// From now on entries of these functions are not counted, so a frame of one may be a later call than the recorded one.
// One more entry is counted, which tells the collector so.
void Sweep::TakeOut(uint64_t now, SwitchEntries switch_entries) {
  const uint64_t done = out_.Switch(false, true, switch_entries);
  for (size_t i = 0; i < out_.count; ++i) {
    LogFunction& function = *out_.at[i];
    if ((done >> i & 1) == 0) continue;
    function.place = Place::kOut;
    ++function.entries;
    if (function.back_off < kShortestOut) function.back_off = kShortestOut;
    function.rest_until_ns = now + (Policy::kFirstRest << function.back_off);
  }
}

// A function that cannot be switched to its stub now is tried again later.
void Sweep::PutIn(uint64_t now, bool alone, SwitchEntries switch_entries) {
  for (size_t i = 0; i < in_.count; ++i) SetCounter(*in_.at[i], 0);
  const uint64_t done = in_.Switch(true, alone, switch_entries);
  for (size_t i = 0; i < in_.count; ++i) {
    LogFunction& function = *in_.at[i];
    if ((done >> i & 1) != 0)
      function.place = Place::kProbation;
    else
      function.rest_until_ns = now + (Policy::kFirstRest << kShortestOut);
  }
}

uint64_t Sweep::Run(VersionLog& log, uint64_t now, uint32_t percent, bool alone, SwitchEntries switch_entries) {
  const LogHeader& header = log.header();
  const uint32_t count =
      header.function_count < header.function_capacity ? header.function_count : header.function_capacity;
  const uint64_t length = last_ != 0 ? now - last_ : period();
  out_.count = in_.count = 0;
  others_ = 0;
  entries_ = 0;
  uint64_t reached = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Look(log.functions()[i], now, kHot * (length / 1000) / (kSecond / 1000) + 1);
    reached += log.functions()[i].reached;
  }
  const uint64_t cost = entries_ * kStubCost + (reached - reached_) * kReachCost;
  reached_ = reached;
  last_ = now;
  // An eighth of the budget may go to stubs.
  const bool too_many = hurry_ != 0 || entries_ * kStubCost > length / 800 * percent;
  const bool has_clock = others_ != 0 || out_.count > 1 || entries_ * (kSecond / 1000) > kUnbearable * (length / 1000);
  if (too_many && has_clock && percent < 100) {
    if (others_ == 0 && out_.count > 1) --out_.count;  // the recorder needs an entry to run at
    TakeOut(now, switch_entries);
  }
  if (in_.count != 0) PutIn(now, alone, switch_entries);
  constexpr uint32_t kMostDoublings = 6;  // 256 ms
  constexpr size_t kMany = 8;             // the program does something else now: soon there will be more
  if (out_.count >= kMany)
    doublings_ = 1;
  else if (doublings_ < kMostDoublings && hurry_ == 0)
    ++doublings_;
  hurry_ = 0;
  return cost;
}

}  // namespace recrash::record
