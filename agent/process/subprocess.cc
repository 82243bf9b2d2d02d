#include "agent/process/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/base/text.h"

namespace recrash {
namespace {

std::vector<std::string> Environment(const ProcessOptions& options) {
  std::vector<std::string> words;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : options.environment) replaced |= text.starts_with(name + "=");
    for (const std::string& name : options.without) replaced |= text.starts_with(name + "=");
    if (!replaced) words.emplace_back(text);
  }
  for (const auto& [name, value] : options.environment) words.push_back(name + "=" + value);
  return words;
}

// While a child has the terminal, Ctrl-C and Ctrl-\ are meant for it, and we stay to say what became of it.
class IgnoreInterrupts {
 public:
  IgnoreInterrupts() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~IgnoreInterrupts() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }
  IgnoreInterrupts(const IgnoreInterrupts&) = delete;
  IgnoreInterrupts& operator=(const IgnoreInterrupts&) = delete;

 private:
  struct sigaction interrupt_{};
  struct sigaction quit_{};
};

std::string ReadAll(int fd) {
  std::string out;
  char buffer[65536];
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) out.append(buffer, static_cast<size_t>(got));
  }
  return out;
}

}  // namespace

int ProcessResult::exit_code() const {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<ProcessResult> RunProcess(const std::vector<std::string>& argv, const ProcessOptions& options) {
  std::vector<std::string> words = argv, variables = Environment(options);
  int pipe_fds[2] = {-1, -1};
  if (options.capture && pipe2(pipe_fds, O_CLOEXEC) != 0)
    return Error{Errc::kRefused, std::string("no pipe for ") + argv[0] + ": " + std::strerror(errno)};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.capture) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  IgnoreInterrupts ignore;
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, words[0].c_str(), &actions, &attributes, ArgumentPointers(words).data(),
                                  ArgumentPointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (pipe_fds[1] >= 0) close(pipe_fds[1]);

  ProcessResult result;
  if (failed == 0 && options.capture) result.output = ReadAll(pipe_fds[0]);
  if (pipe_fds[0] >= 0) close(pipe_fds[0]);
  if (failed != 0) return Error{Errc::kMissing, std::string(argv[0]) + ": cannot be started: " + std::strerror(failed)};
  while (waitpid(pid, &result.wait_status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

std::string FindInPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    if (colon > 0 && access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return "";
}

}  // namespace recrash
