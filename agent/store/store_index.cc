#include "agent/store/store_index.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <vector>

#include "agent/base/printable_text.h"
#include "agent/base/sha256.h"
#include "agent/base/text.h"
#include "agent/store/report_folder.h"

namespace recrash {
namespace {

constexpr size_t kLongest = 16 << 20;  // some 150,000 reports
constexpr size_t kMostGone = 2000;     // signatures; of chains as well
constexpr size_t kLongestText = 200;
constexpr char kNoSignature[] = "-";

constexpr size_t kSignatureDigits = 32;

bool IsSignature(std::string_view text) {
  return text.size() == kSignatureDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Of a file in the folder; in a store there may be some that the agent has not named.
bool IsName(std::string_view text) { return !text.empty() && text.find_first_of("/\n") == text.npos; }

// Takes the next word of the line.
std::string_view TakeWord(std::string_view* line) {
  const size_t end = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(std::min(end + 1, line->size()));
  return word;
}

template <typename T>
bool TakeNumber(std::string_view* line, T* number) {
  const std::string_view word = TakeWord(line);
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return problem == std::errc() && end == word.data() + word.size();
}

void ReadReportLine(std::string_view line, StoreIndex* index) {
  IndexedReport report;
  if (!TakeNumber(&line, &report.size) || !TakeNumber(&line, &report.written_ns)) return;
  const std::string_view signature = TakeWord(&line);
  if (IsSignature(signature))
    report.signature = signature;
  else if (signature != kNoSignature)
    return;
  if (IsName(line)) index->reports[std::string(line)] = report;
}

// Seconds, so that they can be told in nanoseconds.
bool IsTime(int64_t seconds) { return seconds >= 0 && seconds < INT64_MAX / 1'000'000'000; }

void ReadGoneLine(std::string_view line, StoreIndex* index) {
  const std::string_view signature = TakeWord(&line);
  GoneReports gone;
  if (IsSignature(signature) && TakeNumber(&line, &gone.count) && TakeNumber(&line, &gone.first) &&
      TakeNumber(&line, &gone.last) && IsTime(gone.first) && IsTime(gone.last))
    index->gone[std::string(signature)] = gone;
}

void ReadChainLine(std::string_view line, StoreIndex* index) {
  const std::string_view signature = TakeWord(&line), digest = TakeWord(&line);
  if (IsSignature(signature) && IsSignature(digest))
    index->chains[std::string(signature)] = {std::string(digest), PrintableText(line.substr(0, kLongestText))};
}

// The signatures of which the store has heard last stay.
void Bound(StoreIndex* index) {
  std::vector<std::pair<int64_t, std::string>> ages;
  for (const auto& [signature, gone] : index->gone) ages.emplace_back(gone.last, signature);
  std::ranges::sort(ages);
  for (size_t i = 0; i + kMostGone < ages.size(); ++i) index->gone.erase(ages[i].second);
  const auto is_known = [&](const std::string& signature) {
    const auto has = [&](const auto& report) { return report.second.signature == signature; };
    return index->gone.contains(signature) || std::ranges::any_of(index->reports, has);
  };
  if (index->chains.size() > kMostGone)
    std::erase_if(index->chains, [&](const auto& chain) { return !is_known(chain.first); });
}

bool MayUse(const Fd& file) {
  struct stat status;
  return file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

std::string ReadText(const Fd& file) {
  struct stat status;
  if (fstat(file.get(), &status) != 0 || status.st_size < 0 || status.st_size > static_cast<off_t>(kLongest)) return "";
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t filled = 0;
  for (ssize_t got = 1; got > 0 && filled < text.size(); filled += static_cast<size_t>(std::max<ssize_t>(got, 0)))
    got = pread(file.get(), text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
  text.resize(filled);
  return text;
}

}  // namespace

const std::string& StoreIndex::GroupOf(const std::string& signature) const {
  const auto chain = chains.find(signature);
  return chain == chains.end() ? signature : chain->second.digest;
}

void StoreIndex::CountGone(const std::string& signature, int64_t written_ns) {
  if (signature.empty()) return;
  const int64_t seconds = written_ns / 1'000'000'000;
  const auto [place, is_new] = gone.try_emplace(signature, GoneReports{0, seconds, seconds});
  GoneReports& reports = place->second;
  ++reports.count;
  reports.first = std::min(reports.first, seconds);
  reports.last = std::max(reports.last, seconds);
}

StoreIndex ParseIndex(std::string_view text) {
  StoreIndex index;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) break;  // it was cut
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string_view kind = TakeWord(&line);
    if (kind == "report") ReadReportLine(line, &index);
    if (kind == "gone") ReadGoneLine(line, &index);
    if (kind == "chain") ReadChainLine(line, &index);
  }
  return index;
}

std::string IndexText(const StoreIndex& index) {
  std::string text = "recrash index 1: signatures of the reports in this folder; may be deleted\n";
  for (const auto& [name, report] : index.reports)
    text += "report " + std::to_string(report.size) + " " + std::to_string(report.written_ns) + " " +
            (report.signature.empty() ? kNoSignature : report.signature) + " " + name + "\n";
  for (const auto& [signature, gone] : index.gone)
    text += "gone " + signature + " " + std::to_string(gone.count) + " " + std::to_string(gone.first) + " " +
            std::to_string(gone.last) + "\n";
  for (const auto& [signature, chain] : index.chains)
    text += "chain " + signature + " " + chain.digest + " " + PrintableText(chain.text).substr(0, kLongestText) + "\n";
  return text;
}

StoreIndex ReadIndex(int folder) {
  const Fd file(openat(folder, kIndexName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return MayUse(file) ? ParseIndex(ReadText(file)) : StoreIndex();
}

Result<LockedIndex> LockedIndex::Open(int folder, std::chrono::milliseconds patience) {
  LockedIndex locked(Fd(openat(folder, kIndexName, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)));
  if (!MayUse(locked.file_)) {
    locked.file_ = Fd();
    return locked;
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  // A file system without locks: two at a time may lose what they count, and no more.
  while (flock(locked.file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() > end)
      return Error{Errc::kTaken, std::string(kIndexName) + ": another process has had it for too long"};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  locked.index_ = locked.saved_ = ParseIndex(ReadText(locked.file_));
  return locked;
}

// In its place: a new file would have another lock. Who is killed here leaves lines that are not understood.
void LockedIndex::Save() {
  if (!file_ || index_ == saved_) return;
  Bound(&index_);
  const std::string text = IndexText(index_);
  if (text.size() > kLongest) return;
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t wrote = pwrite(file_.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (wrote <= 0 && errno != EINTR) break;  // a full disk
    if (wrote > 0) at += static_cast<size_t>(wrote);
  }
  if (ftruncate(file_.get(), static_cast<off_t>(at)) == 0) saved_ = index_;
}

namespace {

std::string SignatureOfName(const std::string& name) {
  Sha256 hash;
  hash.Append({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
  return hash.Finish().substr(0, kSignatureDigits);
}

}  // namespace

void KeepChain(const std::string& path, const std::string& signature, const SourceChain& chain) {
  const Fd folder(open(path.substr(0, path.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name = BaseName(path);
  struct stat status;
  if (!folder || !IsName(name) || fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  Result<LockedIndex> index = LockedIndex::Open(folder.get(), std::chrono::seconds(1));
  if (!index) return;
  IndexedReport& report = index->value().reports[name];
  const IndexedReport now = {static_cast<uint64_t>(status.st_size), WrittenAt(status), signature};
  if (report.size != now.size || report.written_ns != now.written_ns) report = now;
  if (report.signature.empty()) report.signature = SignatureOfName(name);
  index->value().chains[report.signature] = chain;
  index->Save();
}

}  // namespace recrash
