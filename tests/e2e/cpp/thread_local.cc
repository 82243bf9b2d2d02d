// A thread-local variable that only the first thread has set.
//
// frames: Current Log
// flags: -pthread
#include <cstdio>
#include <string>
#include <thread>

struct Context {
  std::string name;
  int lines = 0;
};

thread_local Context* context = nullptr;

__attribute__((noinline)) int Current(const std::string& text) {
#ifdef FIXED
  if (!context) return 0;
#endif
  context->lines += static_cast<int>(text.size());  // split
  return context->lines;
}

__attribute__((noinline)) int Log(const char* text) { return Current(std::string("log: ") + text) + 1; }

int main() {
  Context first{"first"};
  context = &first;
  int sum = Log("from the first thread");
  std::thread thread([&sum] { sum += Log("from the second thread"); });
  thread.join();
  std::printf("%d\n", sum);
}
