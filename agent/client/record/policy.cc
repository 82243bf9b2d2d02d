#include "agent/client/record/policy.h"

namespace recrash::record {
namespace {

constexpr int64_t kUnknown = 600;
constexpr int64_t kLongest = -2000;
constexpr int64_t kUnfinished = -2900;
constexpr int64_t kShortest = 950;

// 1000 * log2(value), exact at powers of two and linear in between: 0.09 too low at most.
int64_t Log2(uint64_t value) {
  const int64_t whole = 63 - __builtin_clzll(value | 1);
  const uint64_t rest = whole >= 10 ? value >> (whole - 10) : value << (10 - whole);
  return whole * 1000 + static_cast<int64_t>(rest - 1024) * 1000 / 1024;
}

}  // namespace

int64_t NeededPermille(uint64_t inclusive, const Purse& purse) {
  if (purse.unfinished) return kUnfinished;
  if (inclusive == 0) return kUnknown;
  const uint64_t cost = purse.cost != 0 ? purse.cost : 1;
  constexpr int64_t kLog2Of30 = 4907;
  const int64_t needed = 1000 - (Log2(inclusive) - Log2(cost)) * 1000 / kLog2Of30;
  return needed < kLongest ? kLongest : needed > kShortest ? kShortest : needed;
}

Interval Policy::Reach(LogFunction& function, int32_t left, uint64_t now) {
  const int64_t skipped = int64_t{function.skip} - left;
  const uint64_t entries = skipped > 0 ? static_cast<uint64_t>(skipped) : 1;
  const uint64_t length = function.last_ns != 0 ? now - function.last_ns : kSecond;
  function.entries += entries;
  ++function.reached;
  function.last_ns = now;
  return {entries, length != 0 ? length : 1};
}

// Shorter times weigh more: the end of a call is noticed late, only when something else is entered.
void Policy::Learn(LogFunction& function, uint64_t inclusive) {
  const uint64_t known = function.inclusive_ns;
  if (inclusive == 0) inclusive = 1;
  function.inclusive_ns = known == 0          ? inclusive
                          : inclusive < known ? (known + inclusive) / 2
                                              : (4 * known + inclusive) / 5;
}

void Policy::Rest(LogFunction& function, uint64_t now) {
  function.rest_until_ns = now + (kFirstRest << function.back_off);
  if (function.back_off < kMostBackOff) ++function.back_off;
  function.quick = 0;
  function.brief = 0;
}

// A function may come again soon eight times in a row the first time, later four times. Calls within a call of the same
// function count less: kNested of them count as one.
bool Policy::ComesTooOften(LogFunction& function, const Interval& interval, bool nested) const {
  if (interval.entries * kSecond < interval.length * most_rate()) {
    function.quick = 0;
    if (function.place == Place::kProbation) function.place = Place::kStub;
    if (function.brief == 0) function.back_off = 0;
    return false;
  }
  const uint8_t weight = nested ? 1 : kNested;
  function.quick = static_cast<uint8_t>(function.quick > UINT8_MAX - weight ? UINT8_MAX : function.quick + weight);
  return function.quick >= kNested * (function.back_off == 0 ? kQuick : kQuick / 2);
}

bool Policy::WorthIt(LogFunction& function, const Interval& interval, bool nested, const Purse& purse, uint64_t now) {
  if (now < function.rest_until_ns) return false;
  if (ComesTooOften(function, interval, nested)) return Rest(function, now), false;
  const uint64_t cost = purse.cost != 0 ? purse.cost : 1;
  const bool brief = function.inclusive_ns != 0 && function.inclusive_ns < 2 * cost;
  if (brief) {
    if (++function.brief >= kBrief) Rest(function, now);
    return false;
  }
  function.brief = 0;
  return purse.level > purse.cap * NeededPermille(function.inclusive_ns, purse) / 1000;
}

// A function that ended before two snapshots could be taken, eight times in a row, rests twice as long.
void Policy::Delay(LogFunction& function, uint64_t now, uint64_t cost, uint32_t percent) {
  if (percent >= 100) return;
  const bool brief = function.inclusive_ns != 0 && function.inclusive_ns < 2 * cost;
  if (!brief) {
    function.brief = 0;
    function.back_off = 0;
  } else if (++function.brief >= kBrief) {
    function.brief = 0;
    if (function.back_off < kMostBackOff) ++function.back_off;
  }
  function.rest_until_ns = now + ((cost * 200 / (percent != 0 ? percent : 1)) << function.back_off);
}

int32_t Policy::Skipped(const LogFunction& function, const Interval& interval, uint64_t now) {
  if (now < function.rest_until_ns) {
    const uint64_t remaining = function.rest_until_ns - now;
    const uint64_t most = static_cast<uint64_t>(kMostSkipped);
    const uint64_t entries = interval.entries < most ? interval.entries : most;
    const uint64_t expected = entries * (remaining / 64) / (interval.length / 64 + 1);
    return expected < most ? static_cast<int32_t>(expected) : kMostSkipped;
  }
  // Before it rests: each time half as many entries come to the recorder.
  const int quick = function.quick / kNested;
  return quick <= kQuick / 2 ? 0 : 1 << (quick - kQuick / 2 - 1);
}

void Policy::Adjust(uint64_t cost, uint64_t income) {
  constexpr uint32_t kStrictest = 6;  // 4 entries a second
  if (cost > income / 2 && strictness_ < kStrictest) ++strictness_;
  if (cost < income / 4 && strictness_ != 0) --strictness_;
}

}  // namespace recrash::record
