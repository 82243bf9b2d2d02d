// Closes a job: takes its count away, then fails over a slot that was never set. When the crash is written down the
// count is zero already.
#include <cstdio>

#define NOINLINE __attribute__((noinline))

struct Job {
  int remaining;
  int* slots;
  const char* label;
};

NOINLINE int Finish(Job* job) {
  int last = job->remaining;
  job->remaining = 0;
  if (last == 0) return 0;
  std::printf("%s: %d left\n", job->label, last);
  return job->slots[last - 1];
}

NOINLINE int FinishAll(Job* jobs, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Finish(&jobs[i]);
  return sum;
}

int main() {
  int slots[3] = {7, 8, 9};
  Job jobs[] = {{3, slots, "first"}, {0, nullptr, "idle"}, {2, nullptr, "second"}};
  std::printf("%d\n", FinishAll(jobs, 3));
}
