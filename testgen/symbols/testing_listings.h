// For tests: how often a folder is looked through, by whatever code.
#ifndef RECRASH_TESTGEN_SYMBOLS_TESTING_LISTINGS_H_
#define RECRASH_TESTGEN_SYMBOLS_TESTING_LISTINGS_H_

#include <sys/inotify.h>

#include <string>

#include "agent/base/fd.h"

namespace recrash {

class Listings {
 public:
  explicit Listings(const std::string& folder) : events_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    inotify_add_watch(events_.get(), folder.c_str(), IN_OPEN | IN_ONLYDIR);
  }

  // Since this was last asked.
  int Count() {
    int count = 0;
    alignas(inotify_event) char buffer[1 << 14];
    for (ssize_t size; (size = read(events_.get(), buffer, sizeof buffer)) > 0;)
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        const bool is_folder_itself = (event->mask & IN_ISDIR) != 0 && event->len == 0;
        count += is_folder_itself ? 1 : 0;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    return count;
  }

 private:
  Fd events_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TESTING_LISTINGS_H_
