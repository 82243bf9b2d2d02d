// Runs while the program waits for its report, so everything is bounded: 256 inputs from 1,000 words, 16 MiB kept, and
// 64 MiB hashed.
#include "agent/collector/inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "agent/base/fd.h"
#include "agent/base/ordinary_path.h"
#include "agent/base/sha256.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/collector/collect.h"
#include "agent/process/proc_files.h"
#include "shadowstack/additions.h"

namespace recrash {
namespace {

constexpr size_t kMostInputs = 256;
constexpr size_t kMostWords = 1000;
constexpr size_t kLongestName = 4096;
constexpr uint64_t kMostHashed = 64u << 20;
constexpr size_t kPiece = 256 << 10;  // stays in the processor's cache between reading and hashing

struct Opened {
  Fd fd;
  struct stat status = {};
};

// Nothing but a regular file is opened: opening a device or a pipe may do something, or wait.
Opened OpenRegular(int folder, const std::string& name) {
  Opened opened;
  if (fstatat(folder, name.c_str(), &opened.status, 0) != 0 || !S_ISREG(opened.status.st_mode)) return opened;
  Fd fd(openat(folder, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd || fstat(fd.get(), &opened.status) != 0) return opened;
  if (S_ISREG(opened.status.st_mode)) opened.fd = std::move(fd);
  return opened;
}

bool IsOfTheSystem(const std::string& path) {
  for (const char* folder : {"/proc/", "/dev/", "/sys/"})
    if (path.starts_with(folder)) return true;
  return false;
}

class Collection {
 public:
  Collection(bool embed, Report* report)
      : embed_(embed),
        report_(report),
        folder_(open(Fails("input_folder") ? "" : ProcPath(report->process.pid, "cwd").c_str(),
                     O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

  // What the program attaches comes first, then the command line: when room is short, files that somebody named matter
  // more than open ones.
  void Read(const std::vector<std::string>& attached) {
    for (const std::string& path : attached) Attach(path);
    const std::vector<std::string>& words = report_->process.arguments;
    for (size_t i = 1; i < std::min(words.size(), kMostWords); ++i)
      for (const std::string& name : NamesIn(words[i])) AddNamed(name);
    for (OpenFile& file : report_->files) AddOpen(&file);
    SayWhatIsMissing();
  }

 private:
  struct Identity {
    dev_t device;
    ino_t inode;
    bool operator==(const Identity&) const = default;
  };

  void SayWhatIsMissing() {
    if (left_out_)
      report_->losses.push_back("of more than " + std::to_string(kMostInputs) + " input files nothing is kept");
    if (!folder_) report_->losses.push_back("input files with relative names: the working directory cannot be opened");
    if (report_->process.arguments.size() > kMostWords || Fails("input_words"))
      report_->losses.push_back("input files that the command line names behind its first " +
                                std::to_string(kMostWords) + " words");
    if (without_checksum_ != 0)
      report_->losses.push_back("checksums of " + std::to_string(without_checksum_) + " input files: more than " +
                                std::to_string(kMostHashed >> 20) + " MiB would have to be read");
  }

  void Attach(const std::string& path) {
    const Opened opened = Fails("attached") ? Opened() : OpenRegular(AT_FDCWD, path);
    const auto lose = [&](const std::string& why) { report_->losses.push_back("attached file " + path + ": " + why); };
    if (!S_ISREG(opened.status.st_mode) || !IsOrdinaryPath(path)) return lose("it is not there, or no regular file");
    if (identities_.size() == kMostInputs) return lose("there are too many input files");
    if (FindKnown(opened) >= 0) return;
    const auto size = static_cast<uint64_t>(opened.status.st_size);
    if (size > abi::kMostAttached) return lose("larger than 1 MiB");
    if (size > abi::kMostAllAttached - attached_) return lose("with it the attached files would be larger than 4 MiB");
    attached_ += size;
    Input& input = AddNew(opened, opened.fd ? ReadProcLink(getpid(), "fd/" + std::to_string(opened.fd.get())) : path);
    input.attached = true;
    input.content = InputContent::kHeld;
    Keep(opened.fd, &input);
    if (input.content == InputContent::kUnreadable) lose("it could not be read");
  }

  void AddNamed(const std::string& name) {
    if (!folder_ && !name.starts_with('/')) return;
    const Opened opened = OpenRegular(folder_.get(), name);
    if (!S_ISREG(opened.status.st_mode)) return;
    const std::string path = opened.fd               ? ReadProcLink(getpid(), "fd/" + std::to_string(opened.fd.get()))
                             : name.starts_with('/') ? name
                                                     : report_->process.working_directory + "/" + name;
    const int input = Add(opened, path);
    if (input < 0) return;
    std::vector<std::string>& names = report_->inputs[static_cast<size_t>(input)].names;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }

  // Opens through /proc, which gives the very file even if its name is gone or now names another file.
  void AddOpen(OpenFile* file) {
    if (!S_ISREG(file->mode) || (file->flags & O_ACCMODE) == O_WRONLY || (file->flags & O_PATH)) return;
    const Opened opened =
        OpenRegular(AT_FDCWD, ProcPath(report_->process.pid, "fd/" + std::to_string(file->descriptor)));
    if (!S_ISREG(opened.status.st_mode) || Fails("open_input"))
      report_->losses.push_back("an open input file: " + file->path + " cannot be looked at");
    else
      file->input = Add(opened, file->path);
  }

  // The input's index, or -1 if the file is not an input.
  int Add(const Opened& opened, const std::string& path) {
    if (const int known = FindKnown(opened); known >= 0) return known;
    if (!S_ISREG(opened.status.st_mode) || IsOfTheSystem(path) || IsModule(path)) return -1;
    if (identities_.size() == kMostInputs) {
      left_out_ = true;
      return -1;
    }
    Input& input = AddNew(opened, path);
    input.content = !embed_                               ? InputContent::kNotAsked
                    : input.size > kMaxHeldInput          ? InputContent::kTooLarge
                    : input.size > kMaxHeldInputs - held_ ? InputContent::kNoRoom
                                                          : InputContent::kHeld;
    if (input.held()) held_ += input.size;
    Keep(opened.fd, &input);
    return static_cast<int>(identities_.size()) - 1;
  }

  // -1: it is not among the inputs.
  int FindKnown(const Opened& opened) const {
    const auto known = std::ranges::find(identities_, Identity{opened.status.st_dev, opened.status.st_ino});
    return known == identities_.end() ? -1 : static_cast<int>(known - identities_.begin());
  }

  Input& AddNew(const Opened& opened, const std::string& path) {
    identities_.push_back({opened.status.st_dev, opened.status.st_ino});
    Input& input = report_->inputs.emplace_back();
    input.path = path;
    input.size = static_cast<uint64_t>(opened.status.st_size);
    return input;
  }

  bool IsModule(const std::string& path) const {
    return path == report_->process.program ||
           std::ranges::find(report_->modules, path, &Module::path) != report_->modules.end();
  }

  // Reads what is to be held, and hashes.
  void Keep(const Fd& fd, Input* input) {
    const bool hashed = input->size <= kMostHashed - hashed_ && !Fails("input_hash");
    if (!hashed && !input->held()) ++without_checksum_;
    if ((hashed || input->held()) && (!Read(fd, input) || Fails("input"))) {
      input->content = InputContent::kUnreadable;
      input->bytes.clear();
      input->sha256.clear();
    }
    if (hashed) hashed_ += input->size;
  }

  // Reads as many bytes as the file had when it was opened. A file that grows meanwhile is cut there; one that shrinks
  // is unreadable.
  static bool Read(const Fd& fd, Input* input) {
    Sha256 hash;
    std::vector<uint8_t> passing(input->held() ? 0 : std::min<uint64_t>(input->size, kPiece));
    if (input->held()) input->bytes.resize(input->size);
    for (uint64_t done = 0; done < input->size;) {
      const size_t wanted = std::min<uint64_t>(kPiece, input->size - done);
      uint8_t* piece = input->held() ? input->bytes.data() + done : passing.data();
      const ssize_t got = pread(fd.get(), piece, wanted, static_cast<off_t>(done));
      if (got <= 0) return false;
      hash.Append({piece, static_cast<size_t>(got)});
      done += static_cast<uint64_t>(got);
    }
    input->sha256 = hash.Finish();
    return static_cast<bool>(fd);
  }

  bool embed_;
  Report* report_;
  Fd folder_;
  std::vector<Identity> identities_;  // of report_->inputs
  uint64_t attached_ = 0;
  uint64_t held_ = 0;
  uint64_t hashed_ = 0;
  uint64_t without_checksum_ = 0;
  bool left_out_ = false;
};

}  // namespace

std::vector<std::string> NamesIn(const std::string& word) {
  std::vector<std::string> names;
  if (!word.empty() && word.size() <= kLongestName) names.push_back(word);
  const size_t sign = word.find('=');
  if (sign != word.npos && sign + 1 < word.size() && word.size() - sign - 1 <= kLongestName)
    names.push_back(word.substr(sign + 1));
  return names;
}

void ReadInputs(bool embed, const std::vector<std::string>& attached, Report* report) {
  Collection(embed, report).Read(attached);
}

}  // namespace recrash
