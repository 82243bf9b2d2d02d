// Reports that name code of their sender's. The code writes a file where it runs; none of it may run unasked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/elf/elf_notes.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
__attribute__((noinline)) int Read(const int* target) { return *target + 1; }
int main() { return Read(nullptr) + 1; }
)";

// A library whose initialiser leaves a mark.
class Payload {
 public:
  explicit Payload(const std::string& name = "libpayload.so") : library_(folder_ / name) {
    std::ofstream(folder_ / "payload.c") << "#include <fcntl.h>\n__attribute__((constructor)) static void Run(void) { "
                                            "open(\""
                                         << mark_ << "\", O_CREAT | O_WRONLY, 0600); }\n";
    const std::string command = "cc -shared -fPIC -Wl,--build-id " + (folder_ / "payload.c") + " -o " + library_;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);  // any user can leave the mark
  }

  bool HasRun() const { return std::filesystem::exists(mark_); }
  const std::string& path() const { return library_; }

  // As its sender describes it: with the build-id that it has.
  Module AsModule(const std::string& path) const {
    Module module;
    module.path = path;
    module.build_id = *ReadBuildId(library_);
    module.base = {0x7e0000000000};
    module.size = 0x5000;
    module.bias = module.base.value;
    return module;
  }

 private:
  TemporaryDirectory folder_;
  std::string mark_ = folder_ / "has_run";
  std::string library_;
};

// Replays all frames of a report; the frame that needs nothing of the sender's reproduces all the same.
void ExpectNotToRun(const Payload& payload, const ReplayedProgram& program) {
  const auto check = [&] {
    EXPECT_EQ(program.Verify("Read").verdict, Verdict::kReproduced) << program.text();
    EXPECT_FALSE(payload.HasRun());
  };
  check();
  program.AsAnotherUser(check);
}

TEST(HostileReport, RunsNoModuleOfAnyFolder) {
  const Payload payload;
  ReplayedProgram program(kProgram);
  program.report().modules.push_back(payload.AsModule(payload.path()));
  ExpectNotToRun(payload, program);
}

TEST(HostileReport, RunsNoInputThatItHolds) {
  const Payload payload;
  ReplayedProgram program(kProgram);
  Input input;
  input.names = {"innocent"};
  input.path = "/tmp/innocent";
  input.bytes = ReadBytes(payload.path());
  input.size = input.bytes.size();
  input.content = InputContent::kHeld;
  program.report().inputs.push_back(input);
  // Descriptors of inputs begin at one of these, whatever the limit of this machine; a few others come before.
  for (const int first : {20000, 4000, 1000, 200, 100})
    for (int number = first; number < first + 8; ++number)
      program.report().modules.push_back(payload.AsModule("/proc/self/fd/" + std::to_string(number)));
  ExpectNotToRun(payload, program);
}

TEST(HostileReport, PreloadsNoLibraryThatIsNamedLikeOurs) {
  const Payload payload("librecrash_preload_more.so");
  ReplayedProgram program(kProgram);
  program.report().modules.push_back(payload.AsModule(payload.path()));
  ExpectNotToRun(payload, program);
}

TEST(HostileReport, WaitsForNoFifoInPlaceOfAMappedFile) {
  const TemporaryDirectory folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ReplayedProgram program(kProgram);
  program.report().mappings.push_back({{0x7e0000000000}, {0x7e0000001000}, kMapRead, 0, fifo});
  std::ranges::sort(program.report().mappings, {}, &Mapping::start);
  alarm(60);
  EXPECT_EQ(program.Verify("Read").verdict, Verdict::kReproduced) << program.text();
  alarm(0);
}

}  // namespace
}  // namespace recrash
