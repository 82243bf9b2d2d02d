// The resume part of a coroutine is a function of one argument, its frame. Nothing is done before it was split.
// RUN: %clangxx -O2 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
// RUN: %clangxx -O0 -g -c %s -o %t.o && %plainxx -shared %t.o -o %t.so && %map %t.so | FileCheck %s
#include <coroutine>
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
void Sink(int);
// CHECK: _Z4WorkPi.resume: 1 words at
// CHECK-NEXT: rdi: parameter 0+0, 8 bytes
Task Work(int* p) {
  Sink(*p);
  co_await std::suspend_always{};
  Sink(*p + 1);
}
