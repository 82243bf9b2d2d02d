// Whom the pipeline tells what it is doing. It prints nothing itself.
#ifndef RECRASH_TESTGEN_SUITE_OBSERVER_H_
#define RECRASH_TESTGEN_SUITE_OBSERVER_H_

#include <cstddef>
#include <string>

namespace recrash {

class Observer {
 public:
  virtual ~Observer() = default;
  // The first line of `text` says what happened, the others what to do. May hold text of a report, unescaped.
  virtual void Note(const std::string& text) = 0;
  // May be done what `text` says? False where nobody can be asked.
  virtual bool Ask(const std::string& text) = 0;
  // Of the task `what`, `done` of `all` steps are done.
  virtual void Progress(const std::string& what, size_t done, size_t all) = 0;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_OBSERVER_H_
