#include "agent/store/stack_walk.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "agent/elf/elf_image.h"
#include "agent/elf/frame_rules.h"

namespace recrash {
namespace {

constexpr size_t kMostSteps = 1024;  // of a deep recursion
constexpr int kRsp = 7;
constexpr int kRip = 16;

class Walker {
 public:
  Walker(const Report& report, const ReadStackWord& elsewhere) : report_(report), elsewhere_(elsewhere) {
    if (report.failure.kind == FailureKind::kException && report.thrown) {
      thrown_ = &*report.thrown;
      registers_ = thrown_->registers.dwarf;
      is_exact_ = false;
    } else if (const Thread* thread = report.failing_thread()) {
      registers_ = thread->registers.dwarf;
    }
  }

  WalkedStack Run(size_t most) {
    if (report_.FindModule({registers_[kRip]}) == nullptr) ReturnFromNowhere();
    size_t steps = 0;
    const Module* module;
    do {
      module = report_.FindModule({registers_[kRip]});
      if (module == nullptr) break;
      Add({module, registers_[kRip] - module->bias});
    } while (++steps < kMostSteps && stack_.frames.size() < most && Step(*module));
    stack_.is_whole |= steps == kMostSteps || stack_.frames.size() == most;
    return std::move(stack_);
  }

 private:
  void Add(const WalkedFrame& frame) {
    if (std::ranges::find(stack_.frames, frame) == stack_.frames.end()) stack_.frames.push_back(frame);
  }

  // What was called is no code, so nothing but the return address has been pushed.
  void ReturnFromNowhere() {
    const std::optional<uint64_t> caller = ReadWord(registers_[kRsp]);
    if (!caller) return;
    registers_[kRip] = *caller;
    registers_[kRsp] += 8;
    is_exact_ = false;
  }

  bool Step(const Module& module) {
    const ElfImage* image = ImageOf(module);
    if (image == nullptr) return false;
    // A call that does not return may be a function's last instruction; its return address then lies in the next one.
    const uint64_t address = registers_[kRip] - module.bias - (is_exact_ ? 0 : 1);
    const std::optional<FrameRules> rules = ReadFrameRules(*image, address);
    if (!rules) return false;
    stack_.is_whole = rules->is_outermost();
    const uint64_t sp = registers_[kRsp];
    const auto read = [this](uint64_t at) { return ReadWord(at); };
    // A handler may have a stack of its own, on either side.
    if (!rules->Unwind(read, &registers_) || (registers_[kRsp] <= sp && !rules->is_signal_frame)) return false;
    is_exact_ = rules->is_signal_frame;
    return true;
  }

  std::optional<uint64_t> ReadWord(uint64_t address) const {
    if (thrown_ == nullptr) {
      const std::optional<uint64_t> word = report_.ReadWord({address});
      return word || !elsewhere_ ? word : elsewhere_({address});
    }
    const uint64_t offset = address - thrown_->address.value;
    const std::vector<uint8_t>& bytes = thrown_->bytes;
    if (bytes.size() < 8 || address < thrown_->address.value || offset > bytes.size() - 8) return std::nullopt;
    uint64_t word;
    std::memcpy(&word, &bytes[offset], sizeof word);
    return word;
  }

  // Null if the file is another build by now.
  const ElfImage* ImageOf(const Module& module) {
    const auto [place, is_new] = images_.try_emplace(&module);
    if (is_new && !module.build_id.empty()) {
      Result<ElfImage> image = ElfImage::Open(module.path);
      if (image && image->facts().build_id == module.build_id) place->second.emplace(*std::move(image));
    }
    return place->second ? &*place->second : nullptr;
  }

  const Report& report_;
  const ReadStackWord& elsewhere_;
  const ThrownStack* thrown_ = nullptr;
  FrameRegisters registers_{};
  bool is_exact_ = true;  // the pc is no return address
  WalkedStack stack_;
  std::map<const Module*, std::optional<ElfImage>> images_;
};

}  // namespace

WalkedStack WalkStack(const Report& report, size_t most, const ReadStackWord& elsewhere) {
  return Walker(report, elsewhere).Run(most);
}

}  // namespace recrash
