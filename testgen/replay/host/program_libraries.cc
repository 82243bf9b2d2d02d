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

std::string LibraryPath(const std::vector<std::string>& folders) {
  const char* own = std::getenv("LD_LIBRARY_PATH");
  std::string path = own ? own : "";
  for (const std::string& folder : folders) path += (path.empty() ? "" : ":") + folder;
  return path;
}

LoadedLibraries ListLibraries(const ProgramFile& program, const std::vector<std::string>& folders) {
  // Another loader may not know what it is asked, and run the program.
  if (!BaseName(program.interpreter).starts_with("ld-linux-x86-64.so")) return {};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("LD_PRELOAD");
    setenv("LD_LIBRARY_PATH", LibraryPath(folders).c_str(), 1);
    // As --list, which gives up at the first library that it does not find.
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    dup2(ends[1], STDOUT_FILENO);
    execl(program.interpreter.c_str(), program.interpreter.c_str(), program.path.c_str(), nullptr);
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
  // the program names the library by its path, or "\tlibwalk.so => not found".
  LoadedLibraries libraries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t arrow = line.find(" => ");
    const size_t start = arrow == std::string::npos ? 1 : arrow + 4;
    const size_t end = line.rfind(" (0x");
    if (line.ends_with(" => not found")) libraries.missing.push_back(BaseName(line.substr(1, arrow - 1)));
    if (end == std::string::npos || end < start || line[start] != '/') continue;
    std::error_code error;
    const std::string path = line.substr(start, end - start);
    libraries.paths.push_back(std::filesystem::canonical(path, error).string());
  }
  return libraries;
}

std::string FileNow(const Module& module, const std::vector<std::string>& loaded) {
  if (std::ranges::find(loaded, module.path) != loaded.end()) return module.path;
  const auto moved = std::ranges::find(loaded, BaseName(module.path), BaseName);
  return moved == loaded.end() ? "" : *moved;
}

}  // namespace recrash
