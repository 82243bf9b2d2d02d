// What recrash-clang makes of the arguments that a build gives it: the same ones, and those that instrument what is
// compiled and add the agent to what is linked.
#ifndef RECRASH_INTEGRATIONS_COMPILER_COMMAND_LINE_H_
#define RECRASH_INTEGRATIONS_COMPILER_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "agent/base/result.h"

namespace recrash::compiler {

struct Paths {
  std::string plugin;              // recrash-pass.so
  std::string client;              // librecrash_client.a
  std::string include;             // of recrash/recrash.h; empty when there is none
  std::string static_client;       // librecrash_client_static.a, for a runtime that is linked statically
  std::string static_options;      // a response file with what goes before it
  std::string embedded_collector;  // recrash_embedded_collector.o
};

struct CommandLine {
  bool help = false;  // --recrash-help: print it instead of running
  bool uses_plugin = false;
  bool uses_client = false;
  std::string program;                 // that is linked; empty: none is
  std::vector<std::string> arguments;  // for clang
};

// Fails with kUsage on a recrash option that it does not understand.
Result<CommandLine> Rewrite(const std::vector<std::string>& arguments, const Paths& paths);

// The words of a response file, split as clang splits them (GNU quoting).
std::vector<std::string> SplitResponseFile(const std::string& text);

}  // namespace recrash::compiler

#endif  // RECRASH_INTEGRATIONS_COMPILER_COMMAND_LINE_H_
