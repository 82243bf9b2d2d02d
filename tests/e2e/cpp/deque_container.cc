// std::deque of owners: the front was moved away and is asked once more.
//
// frames: Run Next Drain main
#include <cstdio>
#include <deque>
#include <memory>

struct Job {
  int cost;
  int Run(int speed) const { return cost * speed; }  // split
};

struct Queue {
  std::deque<std::unique_ptr<Job>> jobs;
  int done = 0;
};

__attribute__((noinline)) int Next(Queue& queue, int speed) {
  std::unique_ptr<Job> job = std::move(queue.jobs.front());
#ifdef FIXED
  queue.jobs.pop_front();
#else
  if (++queue.done % 3) queue.jobs.pop_front();
#endif
  return job->Run(speed);
}

__attribute__((noinline)) int Drain(Queue& queue, int speed) {
  int cost = 0;
  while (!queue.jobs.empty()) cost += Next(queue, speed);
  return cost;
}

int main(int argc, char**) {
  Queue queue;
  for (int i = 0; i < 9; ++i) queue.jobs.push_back(std::make_unique<Job>(Job{i}));
  std::printf("%d\n", Drain(queue, argc));
}
