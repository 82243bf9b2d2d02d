#include "testgen/rerun/recorded_environment.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "agent/report/crash_record.h"

namespace recrash {
namespace {

// Texts of arguments, environment and the program's name: at most what execve takes.
constexpr uint64_t kMostText = 2 << 20;

// The recorded bytes that end where the stack ends.
std::string TopOfStack(const Report& report) {
  for (const Mapping& mapping : report.mappings) {
    if (mapping.path != "[stack]") continue;
    for (const Region& region : report.memory) {
      if (region.address.value + region.bytes.size() != mapping.end.value) continue;
      const size_t size = std::min<size_t>(region.bytes.size(), kMostText);
      return std::string(region.bytes.end() - static_cast<std::ptrdiff_t>(size), region.bytes.end());
    }
  }
  return "";
}

bool IsAssignment(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && equals > 0;
}

}  // namespace

// Beginnings of names. Loader and C library; recrash; then what programs take that a program may start.
constexpr std::string_view kBeginnings[] = {
    "LD_",    "GLIBC_", "GCONV_", "GETCONF_", "HOSTALIASES", "LOCALDOMAIN", "LOC",  "MALLOC", "MEMUSAGE", "NIS_",
    "NLS",    "RES_",   "RESOLV", "SEGFAULT", "PCPROFILE",   "TZ",          "TMP",  "TEMP",   "RECRASH_", "LLVM_",
    "GCOV",   "HEAP",   "HOME",   "XDG_",     "BASH",        "ENV",         "IFS",  "PS4",    "ZDOT",     "PYTHON",
    "PERL",   "RUBY",   "GEM_",   "NODE_",    "JAVA",        "_JAVA",       "JDK_", "CLASS",  "LUA_",     "TCL",
    "GUILE_", "PHP",    "GIO_",   "GTK",      "GDK_",        "GST_",        "QT_",  "QML",    "OPENSSL_", "SSL",
    "PKCS11", "KRB5",   "GIT_",   "LESS",     "TERMINFO",    "TERMCAP",     "SSH_"};

// Words in names, whoever reads them.
constexpr std::string_view kWords[] = {"PATH",  "PRELOAD", "PLUGIN",  "MODULE", "LIBRARY", "OPTIONS", "OPTS",
                                       "EXEC",  "SHELL",   "COMMAND", "PAGER",  "EDITOR",  "VISUAL",  "BROWSER",
                                       "PROXY", "CONFIG",  "SCRIPT",  "HOOK",   "INIT",    "STARTUP", "PROFILE"};

// argv[0] NUL … argv[n] NUL NAME=value NUL … program NUL, then eight zero bytes.
std::vector<std::string> RecordedEnvironment(const Report& report) {
  const std::string top = TopOfStack(report);
  std::string arguments;
  for (const std::string& argument : report.process.arguments) arguments += argument + '\0';
  // A program that was started without arguments has its name here as well, and behind the environment.
  const size_t last = top.find_last_not_of('\0');
  const size_t program = last == std::string::npos ? last : top.rfind('\0', last);
  if (program == std::string::npos || program == 0) return {};
  const size_t start = top.rfind('\0' + arguments, program - 1);
  if (arguments.empty() || start == std::string::npos) return {};
  std::vector<std::string> environment = SplitArguments(std::string_view(top).substr(start + 1 + arguments.size()));
  environment.erase(std::ranges::find(environment, ""), environment.end());
  std::erase_if(environment, [](const std::string& text) { return !IsAssignment(text); });
  return environment;
}

bool MayRunCode(std::string_view assignment) {
  std::string name(assignment.substr(0, assignment.find('=')));
  for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  return std::ranges::any_of(kBeginnings, begins) || std::ranges::any_of(kWords, has);
}

}  // namespace recrash
