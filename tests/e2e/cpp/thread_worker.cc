// A second thread fails, in a method that was handed to std::thread.
//
// frames: Take Work
// flags: -pthread
#include <cstdio>
#include <thread>
#include <vector>

struct Task {
  const int* input;
#ifdef CHANGED
  long priority = 1;
#endif
  int factor;
};

struct Worker {
  std::vector<Task> tasks;
  long result = 0;
  __attribute__((noinline)) long Take(const Task& task) {
#ifdef FIXED
    if (!task.input) return 0;
#endif
    return *task.input * task.factor;  // split
  }
  __attribute__((noinline)) void Work() {
    for (const Task& task : tasks) result += Take(task);
  }
};

int main() {
  int input = 6;
  Worker worker;
  worker.tasks.resize(3);
  for (Task& task : worker.tasks) task.factor = 7;
  worker.tasks[0].input = worker.tasks[1].input = &input;
  std::thread thread(&Worker::Work, &worker);
  thread.join();
  std::printf("%ld\n", worker.result);
}
