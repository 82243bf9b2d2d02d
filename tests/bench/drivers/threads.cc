// threads N [throw]: starts N threads that wait, and prints what memory the process has while all are alive. throw:
// each throws and catches once first, since memory that the first throw of a thread needs is not there before.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Start {
  pthread_barrier_t* all_are_here;
  pthread_barrier_t* may_end;
  bool throws;
};

[[gnu::noinline]] void Fail(const Start* start) {
  if (start->throws) throw std::runtime_error("a failure");
}

void* Wait(void* argument) {
  const auto* start = static_cast<const Start*>(argument);
  try {
    Fail(start);
  } catch (const std::runtime_error&) {
  }
  pthread_barrier_wait(start->all_are_here);
  pthread_barrier_wait(start->may_end);
  return nullptr;
}

void PrintMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmSize:") || line.starts_with("VmRSS:")) std::cout << line << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const unsigned count = static_cast<unsigned>(std::atoi(argv[1]));
  pthread_barrier_t all_are_here, may_end;
  pthread_barrier_init(&all_are_here, nullptr, count + 1);
  pthread_barrier_init(&may_end, nullptr, count + 1);
  Start start{&all_are_here, &may_end, argc > 2};
  std::vector<pthread_t> threads(count);
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, Wait, &start) != 0) return 1;
  }
  pthread_barrier_wait(&all_are_here);
  PrintMemory();
  std::cout.flush();
  pthread_barrier_wait(&may_end);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return 0;
}
