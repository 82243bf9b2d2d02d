// Which calls of some functions are live at a time, told from their entries alone.
//
//   LiveCalls calls;
//   calls.Enter(entry, sp);  // at each entry, as long as the program runs
//   for (const LiveCall& call : calls.live()) …
#ifndef RECRASH_TESTGEN_DERIVE_LIVE_CALLS_H_
#define RECRASH_TESTGEN_DERIVE_LIVE_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace recrash {

struct LiveCall {
  uint64_t entry = 0;
  uint64_t sp = 0;
  uint64_t number = 0;  // of this function's entries, counted from 1
};

class LiveCalls {
 public:
  // A call that began with a stack pointer as low as this one, or lower, has returned.
  void Enter(uint64_t entry, uint64_t sp);
  // Outermost first. The innermost ones may have returned: nothing was entered since.
  const std::vector<LiveCall>& live() const { return live_; }
  // The `nth` live call of the function, counted from 1 and from the outermost; number 0: there are fewer.
  LiveCall FromOutside(uint64_t entry, std::size_t nth) const;

 private:
  std::vector<LiveCall> live_;
  std::map<uint64_t, uint64_t> entries_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DERIVE_LIVE_CALLS_H_
