#include "testgen/suite/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "agent/base/own_reports.h"
#include "agent/report/reader.h"
#include "agent/report/writer.h"
#include "testgen/emit/launch_file.h"
#include "testgen/suite/format.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

constexpr char kMemory[] = ".recrash.json";
constexpr char kHere[] = ".recrash-here.json";
constexpr char kNotCommitted[] = ".gitignore";
constexpr char kSource[] = "crash_test.cc";
constexpr char kReport[] = "crash_test.rcr";
constexpr char kBuildFile[] = "CMakeLists.txt";
constexpr char kLaunchFile[] = ".vscode/launch.json";

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

nlohmann::json ReadMemory(const fs::path& directory, const char* name = kMemory) {
  const std::optional<std::string> text = ReadText(directory / name);
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

Status WriteMemory(const fs::path& path, const nlohmann::json& memory) {
  return WriteText(path, memory.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

// ---- How the files of the folder name others -----------------------------------------------------------------------

bool IsOfSystem(const fs::path& path) {
  const std::string text = path.string();
  return text.starts_with("/usr/") || text.starts_with("/bin/") || text.starts_with("/sbin/");
}

// The path from the folder. Files of the system keep theirs, which other machines have too. Empty: the two have no
// folder in common, and a path from one to the other would be an absolute one in disguise.
std::string PathFrom(const fs::path& directory, const std::string& path) {
  if (path.empty() || IsOfSystem(path)) return path;
  std::error_code error;
  const fs::path from = fs::weakly_canonical(fs::absolute(directory), error);
  const fs::path to = fs::weakly_canonical(fs::path(path).parent_path(), error) / fs::path(path).filename();
  if (from.begin() == from.end() || *std::next(from.begin()) != *std::next(to.begin())) return "";
  return to.lexically_relative(from).string();
}

// What such a path leads to.
std::string PathAt(const fs::path& directory, const std::string& name) {
  return name.empty() ? "" : (fs::absolute(directory) / name).lexically_normal().string();
}

std::vector<std::string> Listed(const nlohmann::json& memory, const char* name) {
  std::vector<std::string> list;
  const auto found = memory.is_object() ? memory.find(name) : memory.end();
  if (found == memory.end() || !found->is_array()) return list;
  for (const nlohmann::json& one : *found)
    if (one.is_string()) list.push_back(one.get<std::string>());
  return list;
}

// The other files as the folder's own files name them, and as they lay when the tests were made.
struct Others {
  std::string program = {};
  std::string twin = {};
  std::vector<std::string> search_paths = {};

  nlohmann::json Json() const { return {{"program", program}, {"twin", twin}, {"search_paths", search_paths}}; }
};

Others OthersIn(const nlohmann::json& memory) {
  return {Remembered(memory, "program"), Remembered(memory, "twin"), Listed(memory, "search_paths")};
}

const std::string& ProgramToName(const Suite& suite) {
  return suite.named_program.empty() ? suite.program : suite.named_program;
}

Others NamedFrom(const Suite& suite) {
  Others named{PathFrom(suite.directory, ProgramToName(suite)), PathFrom(suite.directory, suite.twin)};
  for (const std::string& path : suite.symbols.search_paths)
    named.search_paths.push_back(PathFrom(suite.directory, path));
  return named;
}

// A file as it is named from the folder, if that is there, else as it was.
std::string Found(const std::string& named, const std::string& made) {
  std::error_code error;
  return made.empty() || (!named.empty() && fs::exists(named, error)) ? named : made;
}

// Where the other files are.
Others FindOthers(const fs::path& directory, Others* at_names) {
  const Others named = OthersIn(ReadMemory(directory)), made = OthersIn(ReadMemory(directory, kHere));
  *at_names = {PathAt(directory, named.program), PathAt(directory, named.twin)};
  Others found{Found(at_names->program, made.program), Found(at_names->twin, made.twin)};
  for (size_t i = 0; i < named.search_paths.size(); ++i) {
    at_names->search_paths.push_back(PathAt(directory, named.search_paths[i]));
    const std::string before = i < made.search_paths.size() ? made.search_paths[i] : "";
    found.search_paths.push_back(Found(at_names->search_paths[i], before));
  }
  return found;
}

// By what CMakeLists.txt names it. A name alone says to people what is missing.
std::string NameInBuildFile(const fs::path& directory, const std::string& path) {
  const std::string name = PathFrom(directory, path);
  return CMakeQuoted(name.empty() ? fs::path(path).filename().string() : name);
}

// What the tests need to be told of where code may come from.
std::string CodeWords(const Suite& suite) {
  std::string words;
  for (const std::string& path : suite.symbols.search_paths)
    if (const std::string name = PathFrom(suite.directory, path); !name.empty()) words += " " + CMakeQuoted(name);
  return (words.empty() ? "" : " SEARCH_PATHS") + words + (suite.trust_report ? " TRUST_REPORT" : "");
}

std::string BuildFile(const Suite& suite) {
  return fmt::format(
      R"(cmake_minimum_required(VERSION 3.16)
project(crash_test CXX)
enable_testing()
find_package(recrash REQUIRED)
recrash_add_crash_test(NAME crash_test PROGRAM {}{} REPORT {} SOURCES {}{})
)",
      NameInBuildFile(suite.directory, ProgramToName(suite)),
      suite.twin.empty() ? "" : " TWIN " + NameInBuildFile(suite.directory, suite.twin), kReport, kSource,
      CodeWords(suite));
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
  const std::string launch_file = EmitLaunchFile(suite.report, suite.backtrace, tests.tests, !suite.twin.empty());
  const std::tuple<const char*, const char*, const std::string&> files[] = {
      {kSource, "source", source}, {kBuildFile, "build_file", build_file}, {kLaunchFile, "launch_file", launch_file}};
  for (const auto& [name, remembered_as, text] : files) {
    std::error_code error;
    fs::create_directory((suite.directory / name).parent_path(), error);
    const Status status = WriteKeeping(suite.directory / name, text, Remembered(before, remembered_as), observer);
    if (!status) return status;
  }
  if (const Status status = WriteText(suite.directory / kNotCommitted, fmt::format("build/\n{}\n", kHere)); !status)
    return status;
  nlohmann::json here = Others{ProgramToName(suite), suite.twin, suite.symbols.search_paths}.Json();
  here["report"] = suite.report_path;
  if (const Status status = WriteMemory(suite.directory / kHere, here); !status) return status;
  nlohmann::json memory = NamedFrom(suite).Json();
  memory.update({{"recrash", RECRASH_VERSION},
                 {"report_bytes", suite.report_bytes},
                 {"name", suite.report_name},
                 {"failure", suite.failure},
                 {"trust_report", suite.trust_report},
                 {"max_frames", suite.symbols.max_candidates},
                 {"source", HashText(source)},
                 {"launch_file", HashText(launch_file)},
                 {"build_file", HashText(build_file)}});
  return WriteMemory(suite.directory / kMemory, memory);
}

std::vector<std::string> PlacesHere(const fs::path& directory) {
  Others named;
  Others found = FindOthers(directory, &named);
  if (found.program == named.program) found.program.clear();
  if (found.twin == named.twin) found.twin.clear();
  if (found.search_paths == named.search_paths) found.search_paths.clear();
  return {"-Dcrash_test_PROGRAM=" + found.program, "-Dcrash_test_TWIN=" + found.twin,
          fmt::format("-Dcrash_test_SEARCH_PATHS={}", fmt::join(found.search_paths, ";"))};
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
  return WriteMemory(directory / kMemory, memory);
}

Result<Suite> ReadSuite(const fs::path& directory, const std::string& program, const std::string& twin) {
  const nlohmann::json memory = ReadMemory(directory);
  if (!memory.is_object())
    return Error{Errc::kMissing, fmt::format("{}: needed a folder made by `recrash generate`, found no {}\n"
                                             "make it: recrash generate REPORT --program PROGRAM -o {}",
                                             directory.string(), kMemory, directory.string())};
  Suite suite;
  suite.directory = directory;
  suite.report_path = Remembered(ReadMemory(directory, kHere), "report");
  if (const auto bytes = memory.find("report_bytes"); bytes != memory.end() && bytes->is_number_unsigned())
    suite.report_bytes = bytes->get<uint64_t>();
  suite.report_name = Remembered(memory, "name");
  suite.failure = Remembered(memory, "failure");
  Others named;
  Others found = FindOthers(directory, &named);
  suite.program = program.empty() ? found.program : fs::absolute(program).lexically_normal().string();
  suite.twin = twin.empty() ? found.twin : fs::absolute(twin).lexically_normal().string();
  suite.symbols.program = suite.program;
  suite.symbols.search_paths = std::move(found.search_paths);
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
