#include "testgen/symbols/files/module_set.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "agent/base/ordinary_path.h"
#include "agent/base/text.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxFiles = 20000;

std::string DebugPath(const std::string& root, const std::string& build_id) {
  if (build_id.size() < 4) return "";
  return root + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

bool Matches(const ElfFile& file, const Module& module) {
  return module.build_id.empty() || file.build_id() == module.build_id;
}

// libelf before 0.189 does not know zstd, and libdw then finds no units.
bool HasReadableDwarf(ElfFile& file) {
  if (!file.has_dwarf() || file.dwarf() == nullptr) return false;
  Dwarf_CU* unit = nullptr;
  return dwarf_get_units(file.dwarf(), nullptr, &unit, nullptr, nullptr, nullptr, nullptr) == 0;
}

// A compressed section begins with its kind. No unit is two bytes long.
bool IsCompressedByZstd(const ElfFile& file) {
  const ElfSection* section = file.FindSection(".debug_info");
  uint32_t kind = 0;
  constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD
  if (section == nullptr || section->bytes.size() < sizeof kind) return false;
  std::memcpy(&kind, section->bytes.data(), sizeof kind);
  return kind == kZstd;
}

// -gsplit-dwarf: the file's own units have addresses alone.
bool IsSplit(Dwarf* dwarf) {
  Dwarf_CU* unit = nullptr;
  uint8_t kind = 0;
  for (int i = 0; i < 16 && dwarf_get_units(dwarf, unit, &unit, nullptr, &kind, nullptr, nullptr) == 0; ++i)
    if (kind == DW_UT_skeleton) return true;
  return false;
}

// Why nothing, or too little, is known of the module's types and lines; empty: it has debug information.
std::string NoteOnDebugInformation(const LoadedModule& loaded) {
  const std::string name = BaseName(loaded.module->path);
  if (loaded.dwarf != nullptr)
    return IsSplit(loaded.dwarf->dwarf()) ? name +
                                                ": its debug information lies in .dwo files (-gsplit-dwarf), which "
                                                "are not read; build with -gno-split-dwarf"
                                          : "";
  const auto zstd = std::ranges::find_if(loaded.files, [](const auto& file) { return IsCompressedByZstd(*file); });
  if (zstd == loaded.files.end())
    return name +
           ": no debug information found; give --search-path where its unstripped file lies, or build it with -g";
  return name + ": its debug information is compressed by zstd, which cannot be read here; run `objcopy " +
         "--decompress-debug-sections " + BaseName((*zstd)->path()) + " FOLDER/" + name +
         "` and give --search-path FOLDER, or build with -gz=zlib";
}

std::string Short(const std::string& build_id) {
  return build_id.size() > 12 ? build_id.substr(0, 12) + "…" : build_id;
}

}  // namespace

bool IsOwnPath(const std::string& path) {
  // No bug of the user's lies in the agent's libraries.
  if (BaseName(path).starts_with("librecrash_")) return false;
  for (const char* system : {"/lib/", "/lib64/", "/lib32/", "/usr/lib/", "/usr/lib64/", "/usr/lib32/"})
    if (path.starts_with(system)) return false;
  return path.starts_with("/");
}

Result<std::unique_ptr<ModuleSet>> ModuleSet::Open(const Report& report, const SymbolOptions& options) {
  std::unique_ptr<ModuleSet> set(new ModuleSet(report, options));
  const auto program = std::ranges::find_if(set->modules_, &Module::is_program);
  if (program == set->modules_.end())
    return Error{Errc::kDamaged,
                 "the report names no program among its " + std::to_string(report.modules.size()) + " modules"};
  set->program_ = set->Load(*program);
  if (set->program_ != nullptr) return set;

  const std::string wanted = options.program.empty() ? program->path : options.program;
  const auto found = ElfFile::Open(wanted);
  std::string message = "the report needs " + BaseName(program->path) + ", build-id " +
                        (program->build_id.empty() ? "unknown" : Short(program->build_id)) + "; ";
  if (!found)
    message += "found: " + found.error().message;
  else if (!Matches(**found, *program))
    message += wanted + " has " + ((*found)->build_id().empty() ? "none" : "build-id " + Short((*found)->build_id()));
  else
    message += wanted + " has no code";
  message += "\n  give --program a build of that version, or --search-path where its unstripped file lies";
  return Error{Errc::kMissing, message};
}

std::vector<std::string> ModuleSet::Candidates(const Module& module) const {
  std::vector<std::string> paths;
  if (module.is_program && !options_.program.empty()) paths.push_back(options_.program);
  if (IsOrdinaryPath(module.path)) paths.push_back(module.path);
  for (const std::string& root : options_.search_paths) {
    paths.push_back(root + "/" + BaseName(module.path));
    paths.push_back(DebugPath(root, module.build_id));
  }
  paths.push_back(DebugPath("/usr/lib/debug", module.build_id));
  return paths;
}

LoadedModule* ModuleSet::Load(const Module& module) {
  const auto known = loaded_.find(&module);
  if (known != loaded_.end()) return known->second.get();
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module = &module;
  loaded->own = module.is_program || IsOwnPath(module.path);

  for (const std::string& path : Candidates(module)) {
    if (path.empty() || path[0] == '[') continue;
    auto file = ElfFile::Open(path);
    if (!file || !Matches(**file, module)) continue;
    if (module.build_id.empty()) notes_.push_back(BaseName(path) + ": has no build-id, taken by its path");
    loaded->files.push_back(std::move(*file));
    break;
  }
  AddUnstripped(*loaded);

  if (loaded->image == nullptr) {
    if (!module.path.starts_with("["))
      notes_.push_back(BaseName(module.path) + ": no file with build-id " + Short(module.build_id) +
                       " found; frames in it, and beyond it, may be missing");
    loaded.reset();
  } else if (std::string note = loaded->own ? NoteOnDebugInformation(*loaded) : ""; !note.empty()) {
    notes_.push_back(std::move(note));
  }
  return (loaded_[&module] = std::move(loaded)).get();
}

void ModuleSet::AddUnstripped(LoadedModule& loaded) {
  const Module& module = *loaded.module;
  ElfFile* dwarf = nullptr;
  ElfFile* symtab = nullptr;
  const auto take = [&](ElfFile& file) {
    if (loaded.image == nullptr && file.has_code()) loaded.image = &file;
    if (dwarf == nullptr && HasReadableDwarf(file)) dwarf = &file;
    if (symtab == nullptr && file.has_symtab()) symtab = &file;
  };
  const auto complete = [&] { return loaded.image != nullptr && dwarf != nullptr && symtab != nullptr; };
  for (const auto& file : loaded.files) take(*file);

  std::vector<std::string> paths;
  if (!complete() && !module.build_id.empty()) {
    paths = Candidates(module);
    if (!loaded.files.empty() && !loaded.files[0]->debug_link().empty()) {
      const std::string folder = fs::path(loaded.files[0]->path()).parent_path().string();
      const std::string& link = loaded.files[0]->debug_link();
      for (const std::string& place : {folder + "/", folder + "/.debug/", "/usr/lib/debug" + folder + "/"})
        paths.push_back(place + link);
    }
    for (const std::string& path : FilesWithBuildId(module.build_id)) paths.push_back(path);
  }
  for (const std::string& path : paths) {
    if (complete()) break;
    bool is_new = !path.empty() && path[0] != '[';
    for (const auto& file : loaded.files) is_new = is_new && file->path() != path;
    if (!is_new) continue;
    auto file = ElfFile::Open(path);
    if (!file || (*file)->build_id() != module.build_id) continue;
    loaded.files.push_back(std::move(*file));
    take(*loaded.files.back());
  }
  if (loaded.image == nullptr) return;
  loaded.names = symtab != nullptr ? symtab : loaded.image;
  if (dwarf != nullptr && dwarf->dwarf() != nullptr) loaded.dwarf = dwarf;
}

const std::vector<std::string>& ModuleSet::FilesWithBuildId(const std::string& build_id) {
  if (!scanned_) {
    scanned_ = true;
    size_t seen = 0;
    for (const std::string& root : options_.search_paths) {
      std::error_code error;
      fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error);
      for (; !error && it != fs::recursive_directory_iterator() && seen < kMaxFiles; it.increment(error), ++seen) {
        if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
        std::error_code ignored;
        if (!it->is_regular_file(ignored)) continue;
        const auto file = ElfFile::Open(it->path().string());
        if (file && !(*file)->build_id().empty()) by_build_id_[(*file)->build_id()].push_back(it->path().string());
      }
      if (seen >= kMaxFiles)
        notes_.push_back(root + ": only the first " + std::to_string(kMaxFiles) + " files were looked at");
    }
  }
  return by_build_id_[build_id];
}

LoadedModule* ModuleSet::Find(TargetAddress address) {
  const Module* module = FindModule(modules_, address);
  return module == nullptr ? nullptr : Load(*module);
}

bool ModuleSet::ReadFile(TargetAddress address, std::span<uint8_t> out, bool writable_too) {
  LoadedModule* loaded = Find(address);
  if (loaded == nullptr) return false;
  const uint64_t in_file = address.value - loaded->bias();
  const ElfLoad* load = loaded->image->LoadAt(in_file);
  const std::span<const uint8_t> bytes = loaded->image->Bytes(in_file, out.size());
  if (load == nullptr || (load->writable && !writable_too) || bytes.size() != out.size()) return false;
  std::ranges::copy(bytes, out.begin());
  return true;
}

}  // namespace recrash
