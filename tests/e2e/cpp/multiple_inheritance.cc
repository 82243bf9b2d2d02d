// A method is called through the second base of an object that has no such base.
//
// frames: Save SaveAll main
#include <cstdio>
#include <vector>

struct Named {
  virtual ~Named() = default;
  const char* name = "unnamed";
};

struct Stored {
  virtual ~Stored() = default;
  virtual int Size() const = 0;
#ifdef CHANGED
  long saved_at = 0;
#endif
  int written = 0;
};

struct Picture : Named, Stored {
  int Size() const override { return width * 3; }
  int width = 4;
};

struct Label : Named {};

__attribute__((noinline)) int Save(Stored* stored) {
  stored->written += stored->Size();  // split
  return stored->written;
}

// part
__attribute__((noinline)) int SaveAll(const std::vector<Named*>& all) {
  int sum = 0;
  for (Named* named : all) {
    auto* stored = dynamic_cast<Stored*>(named);
#ifdef FIXED
    if (!stored) continue;
#endif
    sum += Save(stored);
  }
  return sum;
}
// end part

int main() {
  Picture picture;
  Label label;
  std::printf("%d\n", SaveAll({&picture, &label}));
}
