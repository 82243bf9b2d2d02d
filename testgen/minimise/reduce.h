// Which of many things matter: delta debugging. Things are numbers; a question tells whether a set of them suffices.
//
//   const Subset kept = Reduce(9270, {.width = 4}, [](const std::vector<Subset>& sets) { return Try(sets); });
//
// The result is 1-minimal: without any one of its things it does not suffice. It is the same whatever the width:
// sets are asked for several at a time, and answers count in the order of one after the other. Things that come late
// are tried first, so of two results of the same size that of the smaller numbers is preferred.
#ifndef RECRASH_TESTGEN_MINIMISE_REDUCE_H_
#define RECRASH_TESTGEN_MINIMISE_REDUCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace recrash {

using Subset = std::vector<uint32_t>;  // ascending

// For each of the sets whether it suffices. It may answer no where it does not know: the result is then larger. Fewer
// answers than sets: there will be no more, and the search ends.
using Suffice = std::function<std::vector<bool>(const std::vector<Subset>&)>;

struct ReduceOptions {
  size_t width = 1;        // sets that are asked for at a time
  size_t first_piece = 0;  // how many things are taken away at first; 0: half of them
};

// REQUIRES: all `count` things suffice.
Subset Reduce(size_t count, const ReduceOptions& options, const Suffice& suffice);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_MINIMISE_REDUCE_H_
