// Runs a failing program in a folder of its own and gives what it left.
#ifndef RECRASH_AGENT_CLIENT_TESTING_PROGRAM_H_
#define RECRASH_AGENT_CLIENT_TESTING_PROGRAM_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// What a program left behind. Its folder goes with it.
class Ran {
 public:
  Ran(std::string folder, int status, std::string output, std::string errors);
  Ran(Ran&& other) noexcept;
  ~Ran();

  // Negative: died of that signal; else the exit status.
  int outcome() const;
  bool dumped_core() const;
  const std::string& output() const { return output_; }
  const std::string& errors() const { return errors_; }
  // Hexadecimal at the beginning of the output.
  TargetAddress address() const;
  // Names with that suffix in the report folder.
  std::vector<std::string> Files(const std::string& suffix) const;
  std::string Path(const std::string& file) const { return folder_ + "/reports/" + file; }
  // The only report; a test fails that has none, or several.
  Report OnlyReport(const std::string& suffix = ".rcr") const;

 private:
  std::string folder_;
  int status_;
  std::string output_;
  std::string errors_;
};

class Program {
 public:
  // The program of testdata/failures.cc, with the client linked in.
  static Program Failing(const std::string& failure);
  // The same without the client.
  static Program Unwatched(const std::string& failure);
  // The program of testdata/surroundings.cc, which reads null in surroundings that have a name; and without the client.
  static Program In(const std::string& surroundings);
  static Program UnwatchedIn(const std::string& surroundings);
  // The program of testdata/handlers.cc, which has handlers and masks of its own; and without the client.
  static Program With(const std::string& handlers);
  static Program UnwatchedWith(const std::string& handlers);
  // The first with a collector of its own, and none named.
  static Program Embedding(const std::string& failure);
  // The program of testdata/additions.cc, with the client linked in, or without it: adds something to its reports, then
  // fails.
  static Program Adding(const std::string& what, const std::string& failure = "segv");
  static Program AddingUnwatched(const std::string& what, const std::string& failure);
  // The program of testdata/host.c, which loads plug-ins: without the client, or with it.
  static Program Host(std::vector<std::string> words);
  static Program WatchedHost(std::vector<std::string> words);
  // That of failures.cc with everything linked statically, the client for static links among it.
  static Program Static(const std::string& failure);
  // The first linked by another linker, at a fixed address or not; null where there is no such linker.
  static std::optional<Program> LinkedBy(const std::string& linker, const std::string& failure);
  // The C program of testdata/plain.c, with the client preloaded.
  static Program PlainC();
  // The C program with the client linked in.
  static Program LinkedC();

  Program& With(const std::string& name, const std::string& value) {
    environment_[name] = value;
    return *this;
  }
  Program& Preloaded();
  Program& WithCores() {
    cores_ = true;
    return *this;
  }
  // As on a full disk: writing beyond it fails.
  Program& WithFileSizeLimit(uint64_t bytes) {
    file_size_limit_ = bytes;
    return *this;
  }
  // What the program's process does before it becomes the program: it has the program's number, and lies in its folder.
  Program& After(std::function<void()> prepare) {
    prepare_ = std::move(prepare);
    return *this;
  }
  // Another file to run in the program's place, a copy of it.
  Program& At(const std::string& path) {
    arguments_[0] = path;
    return *this;
  }
  Program& Without(const std::string& name) {
    environment_.erase(name);
    if (name == "RECRASH_DIR") has_folder_ = false;
    return *this;
  }
  // A program that does not end within a minute is ended by SIGALRM.
  Ran Run() const;

 private:
  explicit Program(std::vector<std::string> arguments);

  std::vector<std::string> arguments_;
  std::map<std::string, std::string> environment_;
  std::function<void()> prepare_ = [] {};
  uint64_t file_size_limit_ = 0;
  bool cores_ = false;
  bool has_folder_ = true;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_CLIENT_TESTING_PROGRAM_H_
