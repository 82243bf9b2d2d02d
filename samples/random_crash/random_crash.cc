// Greets a guest by a nickname that is drawn at random; one draw in eight has none.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

namespace {

constexpr unsigned kDraws = 8;

class Greeter {
 public:
  explicit Greeter(std::string greeting) : greeting_(std::move(greeting)) {}

  __attribute__((noinline)) size_t FormatName(const char* name) {
    ++greeted_;
    line_ = greeting_ + ", ";
    size_t length = strlen(name);
    line_.append(name, length);
    return line_.size();
  }

  __attribute__((noinline)) void Greet(const char* name) {
    size_t width = FormatName(name);
    std::printf("%s! (%zu letters, guest %d)\n", line_.c_str(), width, greeted_);
  }

 private:
  std::string greeting_;
  std::string line_;
  int greeted_ = 0;
};

const char* Nickname(unsigned draw) {
  static const char* const kNames[kDraws] = {nullptr, "Ada", "Bjarne", "Grace", "Ken", "Barbara", "Linus", "Margaret"};
  return kNames[draw % kDraws];
}

}  // namespace

int main() {
  Greeter greeter("Good morning");
  greeter.Greet("everyone");
  greeter.Greet(Nickname(std::random_device{}()));
}
