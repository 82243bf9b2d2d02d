#include "testgen/suite/agent_environment.h"

#include <fmt/format.h>

#include <cstdlib>

#include "agent/base/installation.h"
#include "agent/elf/elf_notes.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

// The value for LD_PRELOAD; empty for a program with the agent linked in. A script gets the agent too: the programs
// that it starts may crash.
Result<std::string> AgentToPreload(const fs::path& program) {
  const Result<ElfFacts> elf = ReadElf(program);
  if (elf && !elf->notes.empty()) return std::string();  // built with recrash's pass: the agent is linked in
  if (elf && elf->interpreter.empty())
    return Error{Errc::kRefused, fmt::format("{}: needed a dynamically linked program to load the agent into, found a "
                                             "static one\nlink it with recrash-clang++, which puts the agent in",
                                             program.string())};
  const Result<fs::path> preload = InstalledFile("librecrash_preload.so");
  if (!preload) return preload.error();
  const char* before = std::getenv("LD_PRELOAD");
  return preload->string() + (before && *before ? fmt::format(":{}", before) : "");
}

}  // namespace

std::string CollectorToRun() {
  if (const char* given = std::getenv("RECRASH_COLLECTOR")) return given;
  const fs::path installed = Prefix() / "bin/recrash-collector";
  std::error_code error;
  return fs::exists(installed, error) ? installed.string() : "";
}

Result<std::vector<std::pair<std::string, std::string>>> AgentEnvironment(const fs::path& program,
                                                                          const std::string& options) {
  const Result<std::string> preload = AgentToPreload(program);
  if (!preload) return preload.error();
  std::vector<std::pair<std::string, std::string>> environment = {{"RECRASH_OPTIONS", options}};
  if (!preload->empty()) environment.emplace_back("LD_PRELOAD", *preload);
  if (const std::string collector = CollectorToRun(); !collector.empty())
    environment.emplace_back("RECRASH_COLLECTOR", collector);
  return environment;
}

}  // namespace recrash
