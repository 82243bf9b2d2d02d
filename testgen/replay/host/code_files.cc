#include "testgen/replay/host/code_files.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "agent/base/ordinary_path.h"
#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "agent/elf/elf_notes.h"
#include "testgen/replay/host/program_libraries.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemFolders[] = {"/usr/", "/lib/",  "/lib64/",     "/lib32/",     "/libx32/",
                                          "/bin/", "/sbin/", "/nix/store/", "/gnu/store/", "/opt/"};

// The file itself, behind all links; empty where there is none, or none that may hold code.
std::string FileBehind(const std::string& path) {
  char resolved[PATH_MAX];
  struct stat status;
  if (!IsOrdinaryPath(path) || !realpath(path.c_str(), resolved) || !IsOrdinaryPath(resolved)) return "";
  return stat(resolved, &status) == 0 && S_ISREG(status.st_mode) ? resolved : "";
}

bool IsBelow(const std::string& path, const std::string& folder) {
  return path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

// Is everything from `path` up to `top` only for these owners to change? `path` has no links.
template <typename MayWrite>
bool IsSafeUpTo(const std::string& top, fs::path path, MayWrite may_write) {
  for (;; path = path.parent_path()) {
    struct stat status;
    if (lstat(path.c_str(), &status) != 0 || may_write(status)) return false;
    if (path == top || path == path.root_path()) return true;
  }
}

bool MayOthersThanRootWrite(const struct stat& status) {
  return status.st_uid != 0 || (status.st_mode & S_IWOTH) || ((status.st_mode & S_IWGRP) && status.st_gid != 0);
}

bool MayStrangersWrite(const struct stat& status) {
  return (status.st_uid != 0 && status.st_uid != geteuid()) || (status.st_mode & S_IWOTH);
}

bool IsSystemFile(const std::string& file) {
  const bool is_there =
      std::ranges::any_of(kSystemFolders, [&](const char* folder) { return file.starts_with(folder); });
  return is_there && IsSafeUpTo("/", file, MayOthersThanRootWrite);
}

// A folder that anybody may write into, such as /tmp, makes nothing in it the developer's.
bool IsBeside(const std::string& program, const std::string& file) {
  const std::string folder = fs::path(FileBehind(program)).parent_path();
  return !folder.empty() && IsBelow(file, folder) && IsSafeUpTo(folder, file, MayStrangersWrite);
}

bool HasBuildId(const std::string& file, const std::string& build_id) {
  const Result<std::string> found = ReadBuildId(file);
  return !build_id.empty() && found && *found == build_id;
}

// Of the files with a build-id some hold debug information alone.
bool HasCode(const std::string& file) {
  const Result<ElfFacts> elf = ReadElf(file);
  return elf && std::ranges::any_of(elf->loads, [](const ElfLoad& load) { return load.executable && load.file_size; });
}

// Under a search path: as it was below the system's root (a sysroot), or by its name.
std::optional<std::string> FindBelow(const std::vector<std::string>& search_paths, const Module& module) {
  for (const std::string& root : search_paths) {
    for (const std::string& path : {root + module.path, root + "/" + BaseName(module.path)}) {
      std::error_code error;
      const std::string absolute = fs::absolute(path, error).lexically_normal();
      if (const std::string file = FileBehind(absolute);
          !file.empty() && HasBuildId(file, module.build_id) && HasCode(file))
        return absolute;
    }
  }
  return std::nullopt;
}

Error NotRun(const Module& module, const std::string& why, const std::string& way_out) {
  return {Errc::kRefused, PrintableText(module.path) + " is not run: " + why + "\n  " + way_out};
}

std::string Shown(const std::string& build_id) { return build_id.empty() ? "none" : PrintableText(build_id); }

// Why a file that is there is not run.
Error Refusal(const Module& module, const std::string& file) {
  const std::string folder = PrintableText(fs::path(file).parent_path().string());
  if (!IsSystemFile(file))
    return NotRun(module,
                  "needed a file beside the program, under --search-path, or in a folder of the system that only root "
                  "may write to; found it elsewhere",
                  "give --search-path " + folder + " if that folder is yours, or --trust-report if the report is");
  const Result<std::string> found = ReadBuildId(file);
  return NotRun(module, "needed build-id " + Shown(module.build_id) + ", found " + Shown(found ? *found : ""),
                "give --search-path where that build lies");
}

}  // namespace

Result<std::string> CodeFiles::Find(const Module& module) const {
  if (!IsOrdinaryPath(module.path))
    return NotRun(module, "needed the path of a file, found one below /proc, /dev or /sys, or a relative one",
                  "give --search-path where the file lies");
  const std::string file = FileBehind(module.path);
  if (!file.empty()) {
    if (sources_.trust_report) return module.path;
    if (IsBeside(program_, file)) return file;
    if (IsSystemFile(file) && HasBuildId(file, module.build_id)) return file;
  }
  if (const auto found = FindBelow(sources_.search_paths, module)) return *found;
  if (!file.empty()) return Refusal(module, file);
  return Error{Errc::kMissing, PrintableText(module.path) + " is not there\n  give --search-path where it lies"};
}

namespace {

// Memory of no file that could be executed: what a just-in-time compiler made, say.
bool HasCodeOfItsOwn(const Report& report) {
  return std::ranges::any_of(report.mappings, [&](const Mapping& mapping) {
    return (mapping.flags & kMapExecute) && !mapping.path.starts_with('[') && !report.FindModule(mapping.start);
  });
}

// Where a library lies that the program is linked with and the loader does not find; empty: nowhere. A search path is
// the developer's, so another build of the library will do.
std::string FolderOf(const std::string& name, const TestReport& report, const CodeFiles& files,
                     const CodeSources& sources) {
  std::error_code error;
  const auto module = std::ranges::find(report.modules, name, [](const Module& each) { return BaseName(each.path); });
  if (module != report.modules.end())
    if (const Result<std::string> file = files.Find(*module)) return fs::path(*file).parent_path();
  for (const std::string& root : sources.search_paths)
    if (const fs::path file = fs::absolute(root, error) / name; HasCode(FileBehind(file))) return file.parent_path();
  return "";
}

// Fills `folders` and `missing`. Each library may need others, of which nothing is known until it is found.
LoadedLibraries FindLibraries(const TestReport& report, const ProgramFile& program, const CodeFiles& files,
                              const CodeSources& sources, LoadedCode* code) {
  for (;;) {
    LoadedLibraries loaded = ListLibraries(program, code->folders);
    const size_t known = code->folders.size();
    for (const std::string& name : loaded.missing) {
      const std::string folder = FolderOf(name, report, files, sources);
      if (!folder.empty() && std::ranges::find(code->folders, folder) == code->folders.end())
        code->folders.push_back(folder);
    }
    if (code->folders.size() == known) {
      code->missing = loaded.missing;
      return loaded;
    }
  }
}

}  // namespace

bool IsOurLibrary(const Module& module) { return BaseName(module.path).starts_with("librecrash_"); }

LoadedCode FindCode(const TestReport& report, const ProgramFile& program, const CodeSources& sources) {
  const CodeFiles files(program.path, sources);
  LoadedCode code;
  const std::vector<std::string> loaded = FindLibraries(report, program, files, sources, &code).paths;
  for (const Module& module : report.modules) {
    std::string& file = code.files.emplace_back(module.is_program ? program.path : FileNow(module, loaded));
    std::string& to_load = code.to_load.emplace_back();
    // Libraries of ours are those of the installation; the kernel's have no file.
    if (!file.empty() || module.path.starts_with('[') || IsOurLibrary(module)) continue;
    Result<std::string> found = files.Find(module);
    if (found)
      file = to_load = *std::move(found);
    else if (found.error().code == Errc::kRefused)
      code.refused.push_back(found.error().message);
  }
  if (!sources.trust_report && HasCodeOfItsOwn(report))
    code.refused.push_back(
        "code that the program made while it ran is not run: it is in the report alone, which was not written on this "
        "machine by you\n  give --trust-report if you trust who sent it");
  return code;
}

std::vector<std::string> RefusedCode(const TestReport& report, const std::string& path, const CodeSources& sources) {
  const Result<ProgramFile> program = ReadProgramFile(path, false);
  if (!program) return {};  // told where it is needed
  return FindCode(report, *program, sources).refused;
}

std::string LibraryPathFor(const TestReport& report, const std::string& path, const CodeSources& sources) {
  const Result<ProgramFile> program = ReadProgramFile(path, false);
  if (!program) return "";
  const std::vector<std::string> folders = FindCode(report, *program, sources).folders;
  return folders.empty() ? "" : LibraryPath(folders);
}

Result<std::string> FindRecordedProgram(const Report& report, const CodeSources& sources) {
  const Module* module = report.program();
  if (!module) return Error{Errc::kDamaged, "the report names no program"};
  const Result<std::string> file = CodeFiles("", sources).Find(*module);
  // What is missing is told where it is needed.
  if (file || file.error().code == Errc::kMissing) return module->path;
  return Error{Errc::kRefused,
               "needed a program that you name, since the report was not written on this machine by you; found " +
                   PrintableText(module->path) + ", build-id " + Shown(module->build_id) +
                   ", which the report names\n  give --program with your build of it, or --trust-report"};
}

}  // namespace recrash
