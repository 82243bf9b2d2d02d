// A value or the reason why there is none, in the manner of std::expected (which comes with C++23).
#ifndef RECRASH_AGENT_BASE_RESULT_H_
#define RECRASH_AGENT_BASE_RESULT_H_

#include <string>
#include <utility>
#include <variant>

namespace recrash {

enum class Errc {
  kUsage,
  kDamaged,  // a report that cannot be understood
  kUnsupportedVersion,
  kMissing,  // a file that is needed is not there
  kRefused,  // the machine or the file system said no
  kTaken,    // a file of that name is there, or another process is writing one
};

// The exit code of a tool that ends with this error.
constexpr int ExitCodeOf(Errc code) {
  switch (code) {
    case Errc::kUsage:
      return 2;
    case Errc::kDamaged:
    case Errc::kUnsupportedVersion:
      return 3;
    default:
      return 4;
  }
}

struct Error {
  Errc code;
  std::string message;  // names the file, what was found, what was expected; the way out on a second line
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_RESULT_H_
