// What the store knows beside its reports: the file .recrash-index in their folder.
//
//   Result<LockedIndex> index = LockedIndex::Open(folder, std::chrono::milliseconds(200));
//   index->value().chains["0123..."] = {...};
//   index->Save();
//
// It saves reading each report: the signatures of those that are there. And it holds what no report says: how many of a
// signature are gone, and which chain in the source a signature stands for. It is text, a line an entry. What is not
// understood is left out, and all of it can be deleted: then signatures are read anew, and the rest is not known.
#ifndef RECRASH_AGENT_STORE_STORE_INDEX_H_
#define RECRASH_AGENT_STORE_STORE_INDEX_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "agent/base/fd.h"
#include "agent/base/result.h"

namespace recrash {

inline constexpr char kIndexName[] = ".recrash-index";

// Of a report that is there. Another file under its name is told by size and time.
struct IndexedReport {
  uint64_t size = 0;
  int64_t written_ns = 0;
  std::string signature;  // empty: it has none
  bool operator==(const IndexedReport&) const = default;
};

// Reports of one signature that were removed. Times are Unix times, in seconds.
struct GoneReports {
  uint64_t count = 0;
  int64_t first = 0;
  int64_t last = 0;
  bool operator==(const GoneReports&) const = default;
};

struct SourceChain {
  std::string digest;  // 32 digits: equal for equal chains
  std::string text;    // "SIGSEGV in Book at second_chance.cc", for people; printable
  bool operator==(const SourceChain&) const = default;
};

struct StoreIndex {
  std::map<std::string, IndexedReport> reports;  // by file name
  std::map<std::string, GoneReports> gone;       // by signature
  std::map<std::string, SourceChain> chains;     // by signature

  // What reports of the same crash have in common at the desk: their chain if it is known, else their signature.
  const std::string& GroupOf(const std::string& signature) const;
  void CountGone(const std::string& signature, int64_t written_ns);
  bool operator==(const StoreIndex&) const = default;
};

StoreIndex ParseIndex(std::string_view text);
std::string IndexText(const StoreIndex& index);

// Without a lock, as far as it can be read.
StoreIndex ReadIndex(int folder);

class LockedIndex {
 public:
  // Waits so long for others; fails with kTaken after that. Where the index cannot be had (no such folder, a file
  // system that may not be written) it is empty, and Save does nothing.
  static Result<LockedIndex> Open(int folder, std::chrono::milliseconds patience);

  StoreIndex& value() { return index_; }
  // If it has changed.
  void Save();

 private:
  explicit LockedIndex(Fd file) : file_(std::move(file)) {}

  Fd file_;
  StoreIndex index_, saved_;
};

// Says in the index of the folder that the report at `path` lies in, and that has `signature`, which chain that is. A
// report without a signature, as a raw one of another machine, gets one of its own, so that it can be told by its
// chain. Where that cannot be kept it is not: it can be found again.
void KeepChain(const std::string& path, const std::string& signature, const SourceChain& chain);

}  // namespace recrash

#endif  // RECRASH_AGENT_STORE_STORE_INDEX_H_
