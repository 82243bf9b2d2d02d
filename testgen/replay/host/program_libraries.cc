#include "testgen/replay/host/program_libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "agent/base/text.h"

namespace recrash {
namespace {

constexpr int kCannotExec = 126;

}  // namespace

std::vector<std::string> ListLibraries(const ProgramFile& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("LD_PRELOAD");
    dup2(ends[1], STDOUT_FILENO);
    execl(program.interpreter.c_str(), program.interpreter.c_str(), "--list", program.path.c_str(), nullptr);
    _exit(kCannotExec);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (size < 0 && errno != EINTR) break;
    if (size > 0) text.append(buffer, static_cast<size_t>(size));
  }
  close(ends[0]);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  // A line is "\tlibwalk.so => /opt/app/lib/libwalk.so (0x00007f…)", or "\t/opt/app/lib/libwalk.so (0x00007f…)" where
  // the program names the library by its path.
  std::vector<std::string> libraries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t arrow = line.find(" => ");
    const size_t start = arrow == std::string::npos ? 1 : arrow + 4;
    const size_t end = line.rfind(" (0x");
    if (end == std::string::npos || end < start || line[start] != '/') continue;
    std::error_code error;
    const std::string path = line.substr(start, end - start);
    libraries.push_back(std::filesystem::canonical(path, error).string());
  }
  return libraries;
}

std::string FileNow(const Module& module, const std::vector<std::string>& loaded) {
  if (std::ranges::find(loaded, module.path) != loaded.end()) return module.path;
  const auto moved = std::ranges::find(loaded, BaseName(module.path), BaseName);
  return moved == loaded.end() ? "" : *moved;
}

}  // namespace recrash
