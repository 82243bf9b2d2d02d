// std::any: a cast to what it is not, inside a function that promises not to throw.
//
// frames: Get Limit main
#include <any>
#include <cstdio>
#include <map>
#include <string>

using Options = std::map<std::string, std::any>;

template <typename T>
__attribute__((noinline)) T Get(const Options& options, const std::string& name, T otherwise) {
  auto found = options.find(name);
  if (found == options.end()) return otherwise;
#ifdef FIXED
  const T* value = std::any_cast<T>(&found->second);
  return value ? *value : otherwise;
#else
  return std::any_cast<T>(found->second);
#endif
}

__attribute__((noinline)) long Limit(const Options& options) noexcept { return Get<long>(options, "limit", 10) * 2; }

int main() {
  Options options;
  options["limit"] = std::string("20");
  std::printf("%ld\n", Limit(options));
}
