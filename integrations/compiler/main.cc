// recrash-clang and recrash-clang++: clang with the pass loaded when it compiles and the agent added when it links.
//
// Finds its parts from its own place, so an installed tree may be moved: <prefix>/bin/recrash-clang,
// <prefix>/lib/recrash, <prefix>/include.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "agent/base/installation.h"
#include "agent/base/text.h"
#include "integrations/compiler/command_line.h"
#include "integrations/compiler/crashed_output.h"

namespace recrash::compiler {
namespace {

constexpr char kPlugin[] = "recrash-pass.so";
constexpr char kClient[] = "librecrash_client.a";
#ifdef RECRASH_DRIVER_CXX
constexpr char kName[] = "recrash-clang++";
constexpr char kDriver[] = "clang++";
constexpr char kVariable[] = "RECRASH_CLANGXX";
#else
constexpr char kName[] = "recrash-clang";
constexpr char kDriver[] = "clang";
constexpr char kVariable[] = "RECRASH_CLANG";
#endif

constexpr char kHelp[] =
    R"(Runs %s with a pass: functions then keep their arguments for a crash report. Takes all of
clang's options, and

  -recrash-mode=references   keep the arguments of each call: numbers, and pointers but not what they point to (default)
  -recrash-mode=full         as references, and keep the fields that a function uses of what its arguments point to
  -recrash-mode=second-chance
                             keep no arguments; a profile names functions that are watched from their entry on
  -recrash-mode=references+second-chance
                             both
  -recrash-mode=adaptive     as references+second-chance, without a profile: the agent watches all functions. It takes at
                             most 1 percent of CPU time (snapshot_cpu in RECRASH_OPTIONS), and as much memory as the
                             program has (snapshot_memory)
  -recrash-depth=0|1|2       in mode full: how many pointers to follow (default 1)
  -recrash-list=FILE         which functions to monitor. A line is fun:, src: or type: and a pattern, then nothing,
                             =never, =always or =depth=N: the format of the sanitizers' special case lists
  -recrash-report[=PATH]     write which functions are monitored, which are not, and why: to OBJECT.recrash.txt beside the
                             object, or to this file, folder/ or - (standard error)
  -recrash-version=TEXT      identifier of this build, shown in reports
  -recrash-std               monitor functions of namespace std, too
  -recrash-lto=link|compile  under -flto, which step makes the records: the link step, with lld (default), or the compile
                             step, for other linkers
  -recrash-embed-collector   when linking: the program holds the collector, and needs no second file where it is shipped
  -recrash-plugin            link the agent into a shared library: for plug-ins of programs that are not built with
                             recrash. It reports what fails in the library, or below, and the library stays loaded
  -fno-recrash               run plain clang, without pass and agent
  --recrash-help             this text

Environment:
  %s   the clang to run (default %s-%d); its version must be the pass's, %d
  RECRASH_SUPPORT_DIR        where recrash-pass.so and librecrash_client.a lie (default ../lib/recrash)
)";

int Fail(const Error& error) {
  std::fprintf(stderr, "%s: error: %s\n", kName, error.message.c_str());
  return ExitCodeOf(error.code);
}

Paths FindPaths() {
  std::error_code error;
  const std::filesystem::path support = SupportDirectory();
  const std::filesystem::path include = ExecutableFolder().parent_path() / "include";
  Paths paths;
  paths.plugin = (support / kPlugin).string();
  paths.client = (support / kClient).string();
  paths.embedded_collector = (support / "recrash_embedded_collector.o").string();
  paths.static_client = (support / "librecrash_client_static.a").string();
  paths.static_options = (support / "static_link_options.rsp").string();
  if (std::filesystem::exists(include / "recrash" / "recrash.h", error)) paths.include = include.string();
  return paths;
}

// The names to try, in order.
std::vector<std::string> Compilers() {
  const char* chosen = std::getenv(kVariable);
  if (chosen && *chosen) return {chosen};
  const std::string version = std::to_string(RECRASH_LLVM_VERSION);
  return {std::string(kDriver) + "-" + version, "/usr/lib/llvm-" + version + "/bin/" + kDriver};
}

int Execute(const std::vector<std::string>& arguments) {
  const std::vector<std::string> compilers = Compilers();
  for (const std::string& compiler : compilers) {
    std::vector<std::string> words = {compiler};
    words.insert(words.end(), arguments.begin(), arguments.end());
    ::execvp(compiler.c_str(), ArgumentPointers(words).data());
    if (errno != ENOENT) return Fail({Errc::kRefused, "cannot run " + compiler + ": " + std::strerror(errno)});
  }
  return Fail({Errc::kMissing, "needs " + compilers.front() +
                                   ", which is not found\n  install it (Debian: apt-get install clang-" +
                                   std::to_string(RECRASH_LLVM_VERSION) + "), or name one in " + kVariable});
}

int Run(const std::vector<std::string>& arguments) {
  const Paths paths = FindPaths();
  const Result<CommandLine> command = Rewrite(arguments, paths);
  if (!command) return Fail(command.error());
  if (command->help) {
    std::printf(kHelp, kDriver, kVariable, kDriver, RECRASH_LLVM_VERSION, RECRASH_LLVM_VERSION);
    return 0;
  }
  for (const auto& [used, name] : {std::pair{command->uses_plugin, kPlugin}, {command->uses_client, kClient}}) {
    if (!used) continue;
    const Result<std::filesystem::path> part = InstalledFile(name);
    if (!part) return Fail({part.error().code, part.error().message + "; -fno-recrash compiles without it"});
  }
  if (!command->program.empty()) KeepCrashedOutput(command->program);
  return Execute(command->arguments);
}

}  // namespace
}  // namespace recrash::compiler

int main(int argc, char** argv) { return recrash::compiler::Run({argv + 1, argv + argc}); }
