// A diamond: a base that two others share has a pointer that only one of them sets.
//
// frames: Level Report Loudest main
#include <cstdio>

struct Device {
  virtual ~Device() = default;
  virtual int Level() const { return *volume; }
  const int* volume = nullptr;
};

struct Input : virtual Device {
  int channels = 1;
};

struct Output : virtual Device {
  Output() = default;
  explicit Output(const int* loud) { volume = loud; }
  int speakers = 2;
};

struct Headset : Input, Output {
  explicit Headset(const int* loud) : Output(loud) {}
#ifdef FIXED
  int Level() const override { return volume ? *volume : 0; }
#endif
};

__attribute__((noinline)) int Report(const Device& device) { return 10 * device.Level() + 1; }  // split

__attribute__((noinline)) int Loudest(const Headset* sets, int count) {
  int loudest = 0;
  for (int i = 0; i < count; ++i) {
    int level = Report(sets[i]);
    if (level > loudest) loudest = level;
  }
  return loudest;
}

int main() {
  int loud = 5;
  Headset sets[] = {Headset(&loud), Headset(nullptr)};
  std::printf("%d\n", Loudest(sets, 2));
}
