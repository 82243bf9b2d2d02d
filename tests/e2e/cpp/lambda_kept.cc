// A lambda that is called after the locals that it refers to are gone.
//
// frames: operator() Fire main
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

struct Button {
  std::vector<std::function<int()>> actions;
};

__attribute__((noinline)) void Prepare(Button& button, int steps) {
  auto counter = std::make_unique<int*>(new int(steps));
  int** place = counter.get();
#ifdef FIXED
  button.actions.push_back([value = **place] { return value + 1; });
#else
  button.actions.push_back([place] { return **place + 1; });
#endif
  *counter = nullptr;
  std::memset(static_cast<void*>(place), 0, sizeof *place);
}

__attribute__((noinline)) int Fire(const Button& button) {
  int sum = 0;
  for (const auto& action : button.actions) sum += action();
  return sum;
}

int main(int argc, char**) {
  Button button;
  Prepare(button, argc);
  std::printf("%d\n", Fire(button));
}
