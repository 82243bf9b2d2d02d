// A coroutine begun by one thread and resumed by others: its frame is on the heap, its resume part has it for an
// argument.
#include <coroutine>
#include <exception>
#include <thread>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

// What a coroutine waits for: it is handed to whoever resumes it next.
struct Next {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};

Task Count(int number, const char* name, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (round == 2) FailIf("resumed");
    Add(Work(Hidden(number + 10 * round), name));
    co_await Next{};
  }
}

Task g_task;

[[gnu::noinline]] void Resume(int number, const char* name) {
  Use(number, name);
  g_task.handle.resume();
  Add(1);
}

[[gnu::noinline]] int Rounds(int number, const char* name) {
  Use(name);
  g_task = Count(Hidden(number + 1), Hidden("counted"), Hidden(3));
  for (int round = 0; round < 4; ++round) std::thread(Resume, Hidden(2000 + round), Hidden("resuming")).join();
  g_task.handle.destroy();
  return Add(1);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Rounds(Hidden(1000), Hidden("rounds")));
  return situation::End();
}
