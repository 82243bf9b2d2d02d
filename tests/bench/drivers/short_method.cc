// short_method N: a method of three instructions (load, add, return), called N times through a pointer that the
// compiler cannot see through, so that it is neither inlined nor taken out of the loop.
#include <cstdio>
#include <cstdlib>

namespace {

class Counter {
 public:
  explicit Counter(long value) : value_(value) {}
  [[gnu::noinline]] long Plus(long other) const { return value_ + other; }

 private:
  long value_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Counter counter(argc);
  const Counter* volatile opaque = &counter;
  long (Counter::* volatile method)(long) const = &Counter::Plus;
  const Counter* const target = opaque;
  long (Counter::* const plus)(long) const = method;
  long sum = 0;
  for (long left = std::atol(argv[1]); left > 0; --left) sum = (target->*plus)(sum);
  std::printf("%ld\n", sum);
  return 0;
}
