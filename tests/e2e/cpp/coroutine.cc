// A coroutine: its body goes on with a list that was taken away between two values.
//
// frames: Words Next Print main
#include <coroutine>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

struct Generator {
  struct promise_type {
    size_t value = 0;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(size_t next) {
      value = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
  __attribute__((noinline)) bool Next() {
    handle.resume();
    return !handle.done();
  }
};

struct Text {
  const std::vector<std::string>* words;
};

Generator Words(const Text* text) {
  for (size_t i = 0;; ++i) {
#ifdef FIXED
    if (!text->words || i >= text->words->size()) break;
#else
    if (i >= text->words->size()) break;
#endif
    co_yield (*text->words)[i].size();
  }
}

__attribute__((noinline)) size_t Print(Text* text) {
  Generator words = Words(text);
  size_t letters = 0;
  while (words.Next()) {
    letters += words.handle.promise().value;
    if (letters > 6) text->words = nullptr;
  }
  words.handle.destroy();
  return letters;
}

int main() {
  const std::vector<std::string> words = {"one", "two", "three", "four"};
  Text text{&words};
  std::printf("%zu\n", Print(&text));
}
