// For tests: a log of snapshots over which the program has written.
#ifndef RECRASH_AGENT_COLLECTOR_TESTING_LOG_H_
#define RECRASH_AGENT_COLLECTOR_TESTING_LOG_H_

#include <cstring>
#include <random>
#include <vector>

#include "shadowstack/log_format.h"

namespace recrash {

// Writes `words` words, each near one of `places`. A header that is spared lets more of it through.
inline void DamageLog(std::mt19937_64& random, const std::vector<uint64_t>& places, int words, bool spare_header,
                      std::vector<uint8_t>* log) {
  for (int i = 0; i < words; ++i) {
    const uint64_t word = random() % 3 == 0 ? random() % 64 : random();
    const uint64_t place = places[random() % places.size()] + random() % 64 * 8;
    if (spare_header && place < sizeof(record::LogHeader)) continue;
    std::memcpy(log->data() + place, &word, sizeof word);
  }
}

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_TESTING_LOG_H_
