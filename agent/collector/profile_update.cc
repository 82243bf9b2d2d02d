#include "agent/collector/profile_update.h"

#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "agent/base/text.h"
#include "agent/elf/elf_image.h"
#include "agent/elf/elf_notes.h"
#include "shadowstack/modes.h"

namespace recrash {
namespace {

constexpr size_t kMostFunctions = 1000;  // of one crash; a deep recursion has few different ones
constexpr size_t kMostStacks = 8;        // of handlers that were interrupted themselves

// A program that was installed for all users often lies in a folder that they may not write to; that is no error.
bool MayWriteBeside(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash != path.npos && access(path.substr(0, slash + 1).c_str(), W_OK) == 0;
}

class StackReader {
 public:
  explicit StackReader(const Report& report) : report_(report) {}

  Profile Run() {
    if (report_.thrown) TakeThrown(*report_.thrown);
    if (report_.replaced) TakeThrown(report_.replaced->stack);
    if (const Thread* thread = report_.failing_thread()) {
      Take({thread->registers.pc()}, /*returned_to=*/false);
      stacks_.push_back({thread->registers.sp()});
      for (size_t i = 0; i < stacks_.size() && i < kMostStacks; ++i) TakeStack(stacks_[i]);
    }
    NameFunctions();
    return std::move(profile_);
  }

 private:
  void TakeThrown(const ThrownStack& thrown) {
    Take({thrown.registers.pc()}, /*returned_to=*/true);
    TakeWords(thrown.bytes);
  }

  void NameFunctions() {
    for (const auto& [module, image] : images_) {
      if (!image) continue;
      std::set<uint64_t> starts;
      for (const auto& [of, start] : seen_)
        if (of == module) starts.insert(start);
      const std::map<uint64_t, std::string> names = image->FunctionNames(starts);
      for (ProfiledFunction& function : profile_.functions) {
        const auto name = names.find(*function.offset);
        if (function.build_id == module->build_id && name != names.end() && IsWord(name->second))
          function.name = name->second;
      }
    }
  }

  void TakeStack(TargetAddress sp) {
    const auto region = std::ranges::find_if(report_.memory, [&](const Region& each) {
      return sp >= each.address && sp - each.address < each.bytes.size();
    });
    if (region == report_.memory.end()) return;
    const uint64_t skip = (sp - region->address) & ~uint64_t{7};
    std::span<const uint8_t> stack = std::span(region->bytes).subspan(skip);
    // The region may go on behind the stack's mapping.
    if (const Mapping* mapping = report_.FindMapping(sp))
      stack = stack.first(std::min(stack.size(), mapping->end - sp));
    TakeWords(stack);
  }

  void TakeWords(std::span<const uint8_t> stack) {
    for (; stack.size() >= 8 && profile_.functions.size() < kMostFunctions; stack = stack.subspan(8)) {
      TargetAddress word;
      std::memcpy(&word.value, stack.data(), sizeof word.value);
      if (EndsHandler(word))
        TakeInterrupted(stack.subspan(8));
      else
        Take(word, /*returned_to=*/true);
    }
  }

  // A handler returns to `mov $15, %rax; syscall`, which is rt_sigreturn.
  bool EndsHandler(TargetAddress pc) {
    constexpr uint8_t kReturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    const Module* module = report_.FindModule(pc);
    ElfImage* image = module != nullptr ? ImageOf(*module) : nullptr;
    return image != nullptr && std::ranges::equal(image->Bytes(pc.value - module->bias, sizeof kReturn), kReturn);
  }

  // The kernel has saved the registers of the interrupted code, which may have used another stack.
  void TakeInterrupted(std::span<const uint8_t> saved) {
    gregset_t registers;
    constexpr size_t kOffset = offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, gregs);
    if (saved.size() < kOffset + sizeof registers) return;
    std::memcpy(registers, saved.data() + kOffset, sizeof registers);
    Take({static_cast<uint64_t>(registers[REG_RIP])}, /*returned_to=*/false);
    stacks_.push_back({static_cast<uint64_t>(registers[REG_RSP])});
  }

  void Take(TargetAddress pc, bool returned_to) {
    const Module* module = report_.FindModule(pc);
    ElfImage* image = module != nullptr ? ImageOf(*module) : nullptr;
    if (image == nullptr) return;
    const uint64_t address = pc.value - module->bias;
    if (returned_to && !image->IsReturnAddress(address)) return;
    // A call that does not return may be a function's last instruction; its return address then lies in the next one.
    const std::optional<uint64_t> start = image->FunctionStart(returned_to ? address - 1 : address);
    if (!start || !image->IsPatchable(*start) || !seen_.insert({module, *start}).second) return;
    profile_.functions.push_back({module->build_id, *start, ""});
  }

  // Null if the file is another build by now.
  ElfImage* ImageOf(const Module& module) {
    const auto [place, is_new] = images_.try_emplace(&module);
    if (is_new && !module.build_id.empty()) {
      const Result<std::string> build_id = ReadBuildId(module.path);
      Result<ElfImage> image = ElfImage::Open(module.path);
      if (build_id && *build_id == module.build_id && image) place->second.emplace(*std::move(image));
    }
    return place->second ? &*place->second : nullptr;
  }

  const Report& report_;
  Profile profile_;
  std::vector<TargetAddress> stacks_;  // the stack pointers of the stacks to read
  std::map<const Module*, std::optional<ElfImage>> images_;
  std::set<std::pair<const Module*, uint64_t>> seen_;
};

bool LearnsProfiles(const std::string& mode) {
  const abi::ModeTraits* const traits = abi::ModeNamed(mode);
  return traits != nullptr && traits->patchable;
}

// The functions of the profile that were entered in this run, with its counters.
Profile CountersOfRun(const Report& report, const Profile& profile) {
  Profile counted;
  if (!report.snapshots) return counted;
  std::map<uint64_t, const RecordedFunction*> recorded;
  for (const RecordedFunction& function : report.snapshots->functions) recorded[function.entry.value] = &function;
  for (const ProfiledFunction& function : profile.functions) {
    if (!function.offset || function.build_id.empty()) continue;
    for (const Module& module : report.modules) {
      const auto found = recorded.find(module.bias + *function.offset);
      if (module.build_id != function.build_id || found == recorded.end()) continue;
      const RecordedFunction& of_run = *found->second;
      const auto inclusive = of_run.inclusive_ns != 0 ? std::optional(of_run.inclusive_ns) : std::nullopt;
      counted.functions.push_back({function.build_id, function.offset, function.name, of_run.entries,
                                   of_run.cpu_ns / 1000, of_run.snapshots, inclusive});
    }
  }
  return counted;
}

}  // namespace

Profile FunctionsOnStack(const Report& report) { return StackReader(report).Run(); }

Status UpdateProfile(const Report& report, const std::string& path) {
  if (path.empty() || !MayWriteBeside(path) || !LearnsProfiles(report.process.mode)) return Ok{};
  const Profile found = FunctionsOnStack(report);
  if (found.functions.empty()) return Ok{};
  Profile profile;
  Result<Profile> before = ReadProfile(path);
  if (before)
    profile = *std::move(before);
  else if (before.error().code != Errc::kMissing)
    return before.error();  // whatever it is, it is not ours to replace
  const std::string text = ProfileText(profile);
  MergeProfile(found, &profile);
  MergeProfile(CountersOfRun(report, profile), &profile);
  if (ProfileText(profile) == text && profile.damaged == 0) return Ok{};
  return WriteProfile(profile, path);
}

}  // namespace recrash
