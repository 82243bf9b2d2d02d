#include "testgen/suite/folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "agent/base/own_reports.h"
#include "agent/report/reader.h"
#include "agent/report/writer.h"
#include "testgen/suite/format.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

constexpr char kMemory[] = ".recrash.json";
constexpr char kSource[] = "crash_test.cc";
constexpr char kReport[] = "crash_test.rcr";
constexpr char kBuildFile[] = "CMakeLists.txt";

std::string HashText(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: tells an edit, guards against nothing
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::optional<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Error CannotWrite(const fs::path& path, const std::string& why) {
  return {Errc::kRefused, fmt::format("{}: cannot be written: {}", path.string(), why)};
}

Status WriteText(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".tmp";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) return CannotWrite(path, std::strerror(errno));
  file.close();
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) return CannotWrite(path, error.message());
  return Ok{};
}

nlohmann::json ReadMemory(const fs::path& directory) {
  const std::optional<std::string> text = ReadText(directory / kMemory);
  if (!text) return nullptr;
  const nlohmann::json memory = nlohmann::json::parse(*text, nullptr, false);
  return memory.is_object() ? memory : nlohmann::json(nullptr);
}

std::string Remembered(const nlohmann::json& memory, const char* name) {
  const auto found = memory.is_object() ? memory.find(name) : memory.end();
  return found != memory.end() && found->is_string() ? found->get<std::string>() : "";
}

// Renames a file that is not as we wrote it, so that nobody's work is lost.
Status KeepEdited(const fs::path& path, const std::string& our_hash, Observer* observer) {
  const std::optional<std::string> text = ReadText(path);
  if (!text || HashText(*text) == our_hash) return Ok{};
  for (int i = 1; i < 1000; ++i) {
    const fs::path kept = fmt::format("{}.{}", path.string(), i);
    std::error_code error;
    if (fs::exists(kept, error)) continue;
    fs::rename(path, kept, error);
    if (error) return CannotWrite(kept, error.message());
    observer->Note(fmt::format("{} was edited; it is kept as {}", path.string(), kept.filename().string()));
    return Ok{};
  }
  return CannotWrite(path, "999 older ones are kept beside it");
}

// CMake's own quoting: nothing in a bracket argument is special but its end.
std::string CMakeQuoted(const std::string& text) {
  std::string equals;
  while (text.find("]" + equals + "]") != std::string::npos || text.ends_with("]" + equals)) equals += '=';
  return fmt::format("[{0}[{1}]{0}]", equals, text);
}

// What the tests need to be told of where code may come from.
std::string CodeWords(const Suite& suite) {
  std::string words = suite.symbols.search_paths.empty() ? "" : " SEARCH_PATHS";
  for (const std::string& path : suite.symbols.search_paths) words += " " + CMakeQuoted(path);
  return words + (suite.trust_report ? " TRUST_REPORT" : "");
}

std::string BuildFile(const Suite& suite) {
  return fmt::format(R"(cmake_minimum_required(VERSION 3.16)
project(crash_test CXX)
enable_testing()
find_package(recrash REQUIRED)
recrash_add_crash_test(NAME crash_test PROGRAM {}{} REPORT {} SOURCES {}{})
)",
                     CMakeQuoted(suite.program), suite.twin.empty() ? "" : " TWIN " + CMakeQuoted(suite.twin), kReport,
                     kSource, CodeWords(suite));
}

Status WriteKeeping(const fs::path& path, const std::string& text, const std::string& hash_before, Observer* observer) {
  if (const Status kept = KeepEdited(path, hash_before, observer); !kept) return kept;
  return WriteText(path, text);
}

}  // namespace

bool IsSuite(const fs::path& directory) { return ReadMemory(directory).is_object(); }

Status PrepareDirectory(const fs::path& directory, bool force) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory))
    return CannotWrite(directory, error ? error.message() : "it is not a directory");
  if (force || IsSuite(directory) || fs::is_empty(directory, error)) return Ok{};
  return Error{Errc::kRefused, fmt::format("{}: needed an empty folder or one that recrash made, found other files\n"
                                           "give another folder with -o, or --force (what is replaced is kept)",
                                           directory.string())};
}

Status WriteSuite(const Suite& suite, const EmitOptions& tests, Observer* observer) {
  if (const Status status = WriteReport(suite.report, (suite.directory / kReport).string()); !status) return status;
  if (suite.is_own) NoteOwnReport((suite.directory / kReport).string());
  std::string source = EmitTests(suite.report, suite.backtrace, tests);
  if (suite.format) source = FormattedFor(suite.directory, source);
  const std::string build_file = BuildFile(suite);
  const nlohmann::json before = ReadMemory(suite.directory);
  if (const Status status = WriteKeeping(suite.directory / kSource, source, Remembered(before, "source"), observer);
      !status)
    return status;
  if (const Status status =
          WriteKeeping(suite.directory / kBuildFile, build_file, Remembered(before, "build_file"), observer);
      !status)
    return status;
  const nlohmann::json memory = {{"recrash", RECRASH_VERSION},
                                 {"report", suite.report_path},
                                 {"report_bytes", suite.report_bytes},
                                 {"name", suite.report_name},
                                 {"failure", suite.failure},
                                 {"program", suite.program},
                                 {"twin", suite.twin},
                                 {"search_paths", suite.symbols.search_paths},
                                 {"trust_report", suite.trust_report},
                                 {"max_frames", suite.symbols.max_candidates},
                                 {"source", HashText(source)},
                                 {"build_file", HashText(build_file)}};
  return WriteText(suite.directory / kMemory,
                   memory.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

Status EditSource(const fs::path& directory, const std::function<std::string(const std::string&)>& edit) {
  const std::optional<std::string> before = ReadText(directory / kSource);
  if (!before) return Error{Errc::kMissing, (directory / kSource).string() + ": needed the tests, found no such file"};
  const std::string after = edit(*before);
  if (after == *before) return Ok{};
  if (const Status status = WriteText(directory / kSource, after); !status) return status;
  nlohmann::json memory = ReadMemory(directory);
  if (Remembered(memory, "source") != HashText(*before)) return Ok{};
  memory["source"] = HashText(after);
  return WriteText(directory / kMemory, memory.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

Result<Suite> ReadSuite(const fs::path& directory, const std::string& program, const std::string& twin) {
  const nlohmann::json memory = ReadMemory(directory);
  if (!memory.is_object())
    return Error{Errc::kMissing, fmt::format("{}: needed a folder made by `recrash generate`, found no {}\n"
                                             "make it: recrash generate REPORT --program PROGRAM -o {}",
                                             directory.string(), kMemory, directory.string())};
  Suite suite;
  suite.directory = directory;
  suite.report_path = Remembered(memory, "report");
  if (const auto bytes = memory.find("report_bytes"); bytes != memory.end() && bytes->is_number_unsigned())
    suite.report_bytes = bytes->get<uint64_t>();
  suite.report_name = Remembered(memory, "name");
  suite.failure = Remembered(memory, "failure");
  suite.program = program.empty() ? Remembered(memory, "program") : fs::absolute(program).lexically_normal().string();
  suite.twin = twin.empty() ? Remembered(memory, "twin") : fs::absolute(twin).lexically_normal().string();
  suite.symbols.program = suite.program;
  if (const auto paths = memory.find("search_paths"); paths != memory.end() && paths->is_array())
    for (const nlohmann::json& path : *paths)
      if (path.is_string()) suite.symbols.search_paths.push_back(path.get<std::string>());

  if (const auto most = memory.find("max_frames"); most != memory.end() && most->is_number_unsigned())
    suite.symbols.max_candidates = most->get<uint32_t>();

  if (const auto trust = memory.find("trust_report"); trust != memory.end() && trust->is_boolean())
    suite.trust_report = trust->get<bool>();
  suite.is_own = IsOwnReport((directory / kReport).string());
  Result<TestReport> report = ReadTestReport((directory / kReport).string());
  if (!report) return report.error();
  suite.report = *std::move(report);
  return suite;
}

}  // namespace recrash
