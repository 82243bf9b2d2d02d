// throwing N: throws and catches N times, through three frames with arguments.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

struct Request {
  long number;
  std::string name;
};

[[gnu::noinline]] long Check(const Request& request, long limit) {
  if (request.number % 2 == 0 || request.number > limit) throw std::out_of_range(request.name);
  return request.number;
}

[[gnu::noinline]] long Handle(Request& request, long limit, const char* who) {
  const std::string label = who;  // something to destroy on the way out
  return Check(request, limit) + static_cast<long>(label.size());
}

[[gnu::noinline]] long Serve(Request& request, long limit) {
  ++request.number;
  return Handle(request, limit, "somebody") + 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long times = std::atol(argv[1]);
  Request request{1, "a name"};
  long caught = 0;
  for (long i = 0; i < times; ++i) {
    request.number = 2 * i + 1;
    try {
      Serve(request, times);
    } catch (const std::out_of_range& error) {
      caught += error.what()[0] == 'a';
    }
  }
  std::printf("%ld\n", caught);
  return caught == times ? 0 : 1;
}
