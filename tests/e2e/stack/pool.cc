// A pool of threads: one task fails while the other workers are in the midst of theirs, in the same functions.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "situation.h"

using situation::Hidden;
using situation::Use;

constexpr int kWorkers = 4;

struct Task {
  int number;
  const char* name;  // none: the last one of a worker
};

std::mutex g_mutex;
std::condition_variable g_added;
std::deque<Task> g_tasks;
std::latch g_all_busy(kWorkers);
long g_sum;

void Submit(Task task) {
  const std::lock_guard lock(g_mutex);
  g_tasks.push_back(task);
  g_added.notify_one();
}

Task Take() {
  std::unique_lock lock(g_mutex);
  g_added.wait(lock, [] { return !g_tasks.empty(); });
  const Task task = g_tasks.front();
  g_tasks.pop_front();
  return task;
}

void AddShared(int result) {
  const std::lock_guard lock(g_mutex);
  g_sum += result;
}

// None goes on before all are here. Then one fails, and the others wait for that.
[[gnu::noinline]] void Meet(int number, const char* name, bool fails) {
  Use(name);
  g_all_busy.arrive_and_wait();
  if (situation::Fails("worker") && !fails) std::this_thread::sleep_for(std::chrono::seconds(60));
  situation::FailIf("worker");
  AddShared(Last(Hidden(number + 1000), Hidden<int*>(situation::g_place)));
}

[[gnu::noinline]] void Do(int number, const char* name) {
  Use(name);
  Meet(Hidden(number + 0), Hidden(name), Hidden(number == 2002));
  AddShared(1);
}

[[gnu::noinline]] void Run(int number, const char* name) {
  Use(number, name);
  for (Task task = Take(); task.name != nullptr; task = Take()) Do(Hidden(task.number), Hidden(task.name));
  AddShared(2);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) threads.emplace_back(Run, Hidden(100), Hidden("worker"));
  static const char* const kNames[kWorkers] = {"zero", "one", "two", "three"};
  for (int i = 0; i < kWorkers; ++i) Submit({2000 + i, kNames[i]});
  for (int i = 0; i < kWorkers; ++i) Submit({0, nullptr});
  for (std::thread& thread : threads) thread.join();
  situation::g_total = g_sum;
  return situation::End();
}
