// For tests: no more memory than is said.
#ifndef RECRASH_AGENT_REPORT_TESTING_MEMORY_LIMIT_H_
#define RECRASH_AGENT_REPORT_TESTING_MEMORY_LIMIT_H_

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>

namespace recrash {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECRASH_ADDRESS_SANITIZER 1
#endif
#endif

// No more address space than `size` beyond what is in use, while it lives. (Not under AddressSanitizer, whose shadow
// takes terabytes.)
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t size) {
    getrlimit(RLIMIT_AS, &before_);
#ifndef RECRASH_ADDRESS_SANITIZER
    std::FILE* statm = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (statm == nullptr || std::fscanf(statm, "%lu", &pages) != 1) ADD_FAILURE() << "/proc/self/statm";
    if (statm != nullptr) std::fclose(statm);
    const rlimit limit{pages * 4096 + size, before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
#else
    static_cast<void>(size);
#endif
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_TESTING_MEMORY_LIMIT_H_
