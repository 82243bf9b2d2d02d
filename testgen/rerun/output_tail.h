// The end of what a program prints: the rest is read and forgotten, so that it may print without end.
//
//   OutputTail output;
//   start.output = output.descriptor();
//   …
//   output.Take();  // "server: cannot open config.ini\n"
#ifndef RECRASH_TESTGEN_RERUN_OUTPUT_TAIL_H_
#define RECRASH_TESTGEN_RERUN_OUTPUT_TAIL_H_

#include <string>
#include <thread>

#include "agent/base/fd.h"

namespace recrash {

class OutputTail {
 public:
  OutputTail();
  ~OutputTail() { Take(); }
  OutputTail(const OutputTail&) = delete;
  OutputTail& operator=(const OutputTail&) = delete;

  // Where to print; -1 if there is no pipe.
  int descriptor() const { return writing_.get(); }

  // Returns whole lines of the end, as they were printed, and closes the descriptor. Does not wait for processes that
  // the program has left behind.
  std::string Take();

 private:
  void Read();

  Fd reading_, writing_, stop_;
  std::thread thread_;
  std::string text_;  // the thread's until it has ended
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_OUTPUT_TAIL_H_
