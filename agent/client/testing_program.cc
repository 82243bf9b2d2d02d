#include "agent/client/testing_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/base/text.h"
#include "agent/report/reader.h"

namespace recrash {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Redirect(int descriptor, const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(125);
  close(file);
}

}  // namespace

Ran::Ran(std::string folder, int status, std::string output, std::string errors)
    : folder_(std::move(folder)), status_(status), output_(std::move(output)), errors_(std::move(errors)) {}

Ran::Ran(Ran&& other) noexcept
    : folder_(std::exchange(other.folder_, "")),
      status_(other.status_),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

Ran::~Ran() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

int Ran::outcome() const { return WIFSIGNALED(status_) ? -WTERMSIG(status_) : WEXITSTATUS(status_); }

bool Ran::dumped_core() const { return WIFSIGNALED(status_) && WCOREDUMP(status_); }

TargetAddress Ran::address() const { return {std::strtoull(output_.c_str(), nullptr, 16)}; }

std::vector<std::string> Ran::Files(const std::string& suffix) const {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/reports", none)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(suffix)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Report Ran::OnlyReport(const std::string& suffix) const {
  const std::vector<std::string> names = Files(suffix);
  EXPECT_EQ(names.size(), 1u) << errors_;
  if (names.empty()) return {};
  Result<Report> report = ReadReport(Path(names.front()));
  EXPECT_TRUE(report) << report.error().message;
  return report ? std::move(*report) : Report{};
}

Program::Program(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  environment_ = {{"PATH", "/usr/bin:/bin"}, {"RECRASH_COLLECTOR", RECRASH_TEST_COLLECTOR}};
}

Program Program::Failing(const std::string& failure) { return Program({RECRASH_TEST_FAILURES, failure}); }
Program Program::Unwatched(const std::string& failure) { return Program({RECRASH_TEST_UNWATCHED, failure}); }
Program Program::In(const std::string& surroundings) { return Program({RECRASH_TEST_SURROUNDINGS, surroundings}); }
Program Program::UnwatchedIn(const std::string& surroundings) {
  return Program({RECRASH_TEST_UNWATCHED_SURROUNDINGS, surroundings});
}
Program Program::With(const std::string& handlers) { return Program({RECRASH_TEST_HANDLERS, handlers}); }
Program Program::UnwatchedWith(const std::string& handlers) {
  return Program({RECRASH_TEST_UNWATCHED_HANDLERS, handlers});
}
Program Program::Embedding(const std::string& failure) {
  return Program({RECRASH_TEST_EMBEDDED, failure}).Without("RECRASH_COLLECTOR");
}
Program Program::Adding(const std::string& what, const std::string& failure) {
  return Program({RECRASH_TEST_ADDITIONS, what, failure});
}
Program Program::AddingUnwatched(const std::string& what, const std::string& failure) {
  return Program({RECRASH_TEST_ADDITIONS_UNWATCHED, what, failure});
}
Program Program::Host(std::vector<std::string> words) {
  words.insert(words.begin(), RECRASH_TEST_HOST);
  return Program(std::move(words));
}
Program Program::WatchedHost(std::vector<std::string> words) {
  words.insert(words.begin(), RECRASH_TEST_WATCHED_HOST);
  return Program(std::move(words));
}
Program Program::Static(const std::string& failure) { return Program({RECRASH_TEST_STATIC, failure}); }
std::optional<Program> Program::LinkedBy(const std::string& linker, const std::string& failure) {
  const std::string path = RECRASH_TEST_LINKERS "/" + linker + "/failures";
  if (access(path.c_str(), X_OK) != 0) return std::nullopt;
  return Program({path, failure});
}
Program Program::PlainC() { return Program({RECRASH_TEST_PLAIN_C}).Preloaded(); }
Program Program::LinkedC() { return Program({RECRASH_TEST_LINKED_C}); }

Program& Program::Preloaded() { return With("LD_PRELOAD", RECRASH_TEST_PRELOAD); }

Ran Program::Run() const {
  std::string folder = testing::TempDir() + "recrash-agent-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << folder << ": cannot be made";
  std::vector<std::string> variables;
  std::map<std::string, std::string> environment = environment_;
  if (has_folder_) environment.try_emplace("RECRASH_DIR", folder + "/reports");
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<std::string> arguments = arguments_;
  const std::vector<char*> argument_pointers = ArgumentPointers(arguments),
                           variable_pointers = ArgumentPointers(variables);
  const pid_t child = fork();
  if (child == 0) {
    Redirect(STDIN_FILENO, "/dev/null");
    Redirect(STDOUT_FILENO, folder + "/output");
    Redirect(STDERR_FILENO, folder + "/errors");
    if (chdir(folder.c_str()) != 0) _exit(125);
    const rlimit cores = {cores_ ? RLIM_INFINITY : 0, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &cores);
    const rlimit files = {file_size_limit_, file_size_limit_};
    if (file_size_limit_ != 0 && setrlimit(RLIMIT_FSIZE, &files) != 0) _exit(125);
    prepare_();
    alarm(60);
    execve(argument_pointers[0], argument_pointers.data(), variable_pointers.data());
    _exit(126);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return Ran(folder, status, ReadText(folder + "/output"), ReadText(folder + "/errors"));
}

}  // namespace recrash
