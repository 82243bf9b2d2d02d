// A vector grows while somebody holds a pointer into it.
#include <cstdio>
#include <vector>

struct Task {
  const char* name;
  long cost;
};

__attribute__((noinline)) void Add(std::vector<Task>* tasks, const char* name) {
  tasks->push_back({name, 1});  // cause
}

__attribute__((noinline)) char Initial(const Task& task) { return task.name[0]; }

int main() {
  std::vector<Task> tasks;
  tasks.reserve(2);
  Add(&tasks, "first");
  const Task& first = tasks.front();
  char letter = Initial(first);
  for (int i = 0; i < 4; ++i) Add(&tasks, "more");
  std::printf("%c%c\n", letter, Initial(first));
}
