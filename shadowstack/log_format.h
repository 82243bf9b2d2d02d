// The version log: what the recorder keeps in the program's memory, and the collector reads out of it after a crash.
//
// A snapshot is taken at a function's entry; snapshots are numbered in order. The log has one LogPage for each page
// that was ever written, and for it a chain of LogVersions, the newest first. Version n is the page's content from
// snapshot n on, up to the next version. So a page at snapshot k is its newest version with a number <= k; a page
// without such a version had not been written. A version may be `absent`: nothing was mapped there, or the page was
// given back to the kernel; it reads as zeros.
//
// Where the kernel tracks no writes (`copy_depth` is not 0), versions hold copies instead of pages. Each frame has a
// chain of versions, by LogVersion::older. Their contents, joined, are LogCopies, each followed by its bytes
// (entry_copies.h).
//
// The log lies in one mapping of its own, which is no part of a report's memory. All positions are offsets from its
// start. The collector checks everything that it reads: the program may have written over it.
#ifndef RECRASH_SHADOWSTACK_LOG_FORMAT_H_
#define RECRASH_SHADOWSTACK_LOG_FORMAT_H_

#include <stddef.h>
#include <stdint.h>

#include "shadowstack/entry_hook.h"

namespace recrash::record {

constexpr uint64_t kLogMagic = 0x31474f4c50414e53ull;  // "SNAPLOG1"
constexpr uint32_t kLogVersion = 4;
constexpr uint64_t kPage = 4096;

// Estimated costs in nanoseconds, by which the budget is kept: measuring each would cost more than it.
constexpr uint64_t kStubCost = 4;     // an entry that is only counted
constexpr uint64_t kReachCost = 500;  // one that comes to the recorder
constexpr uint64_t kFaultCost = 900;  // a write to a protected page

constexpr uint32_t kMostFrames = 1024;
constexpr uint32_t kMostMapLists = 256;
constexpr uint32_t kMostRanges = 1024;  // of a map list
constexpr uint32_t kMostFileLists = 256;
constexpr uint32_t kMostFiles = 64;  // of a file list
constexpr uint32_t kMostPaths = 512;
constexpr uint32_t kMostCopyPages = 256;  // of one frame

// Why there is no recording, or none any more.
enum class Stop : uint32_t {
  kNone = 0,
  kNoUserfaultfd = 1,    // the system call is refused; `stop_error` says how
  kNoWriteTracking = 2,  // there is no asynchronous write tracking: a kernel before 6.7
  kNoMemory = 3,         // the log could not be mapped
  kTooManyMappings = 4,  // more than kMostRanges writable ones
  kNotTracked = 5,       // a mapping cannot be registered: something else watches it
  kDescriptorsGone = 6,  // the program has closed the recorder's descriptors
  kTooManyRuns = 7,      // memory is too scattered
  kNoAddressSpace = 8,   // no room in the table of pages
  kNoCopies = 9,         // copies cannot be taken either: neither process_vm_readv nor a pipe can be had
  kNotCopied = 10,       // the same, later
  kNothingTells = 11,    // what is mapped: there is no /proc
  kForked = 12,          // a child of fork, which has not its parent's log. There is no more than the header
};

// What recording came to; shown with the report.
struct LogFigures {
  uint64_t taken;
  uint64_t skipped_rate;    // the function had one not long before
  uint64_t skipped_budget;  // snapshot_cpu was spent
  uint64_t skipped_memory;  // snapshot_memory was full
  uint64_t skipped_pause;   // broken off at the longest pause; the next one goes on with what is left
  uint64_t skipped_busy;    // another thread was taking one
  uint64_t cpu_ns;          // that snapshots took
  uint64_t faults_ns;       // that the program's first writes to pages after snapshots took, at kFaultCost each
  uint64_t entries_ns;      // that entries took without their snapshots, at kStubCost and kReachCost each
  uint64_t longest_pause_ns;
  uint64_t pages_copied;
  uint64_t most_versions;  // held at one time
};

struct LogHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;
  uint64_t start;  // of the mapping, its own address
  uint64_t size;
  int32_t pid;
  Stop stop;
  int32_t stop_error;
  int32_t descriptors[3];  // the recorder's own
  uint32_t copy_depth;     // 0: the log has page versions; else it has copies to that depth,
  Stop why_copies;         // because of this; `stop_error` has the errno
  uint64_t number;         // of the last snapshot
  uint32_t frame_count;
  uint32_t page_slots;        // a power of two
  uint32_t version_capacity;  // versions are numbered from 1
  uint32_t path_count;
  uint32_t unsure;  // a frame may have returned while another thread was busy: nobody knows which frames are live
  uint32_t function_count;
  uint32_t function_capacity;
  uint32_t reserved;
  uint64_t frames, pages, versions, contents, map_lists, file_lists, paths, functions, places;  // offsets
  LogFigures figures;
};

// A snapshot of a frame that has not returned, as far as the recorder can tell. Frames are in the order of their
// numbers.
struct LogFrame {
  uint64_t number;
  uint64_t return_address;  // the word at the stack pointer
  uint64_t thread;          // its thread pointer
  uint64_t brk_end;
  uint32_t map_list;
  uint32_t file_list;
  uint32_t others_ran;  // other threads existed: they may have written while the snapshot was taken
  uint32_t copies_cut;  // a limit cut the copies short
  uint32_t copies;      // its first version; 0 where there are none
  uint32_t copy_bytes;
  uint32_t function;  // index of a LogFunction
  uint32_t reserved;
  uint64_t unseen;  // earlier entries of its function that the stub counted without calling the recorder
  EntryRegisters registers;
};

// Where a function's entry leads.
enum class Place : uint8_t {
  kStub = 0,
  kOut = 1,        // it is as it was compiled
  kProbation = 2,  // to its stub again: if it comes too often, it goes back at once
};

// A function that was entered. Functions are in the order of their first entries.
struct LogFunction {
  uint64_t entry;
  uint64_t counter;  // address of what its stub counts down; 0: it has none
  uint64_t entries;  // up to its last call of the recorder; entries since then are `skip` less the counter
  uint64_t reached;  // those of `entries` that called the recorder
  uint64_t snapshots;
  uint64_t cpu_ns;         // of its snapshots
  uint64_t inclusive_ns;   // from entry to return, a recent mean; 0: not known
  uint64_t last_ns;        // when it came last
  uint64_t rest_until_ns;  // until then the function gets no snapshot
  uint64_t swept;          // `entries` at the last sweep
  int32_t skip;            // what the counter was set to
  uint8_t quick;           // policy.cc: how often in a row it came again too soon
  uint8_t brief;           // how often in a row it ended before two snapshots could have been taken
  uint8_t back_off;        // how often its rest was doubled
  Place place;
};

struct LogPage {
  uint64_t address;  // 0: a free slot
  uint32_t newest;   // version, or 0
  uint32_t reserved;
};

struct LogVersion {
  uint64_t number;
  uint32_t older;  // version, or 0; of a free one: the next free one; of copies: those that follow
  uint32_t absent;
};

// A copy; its bytes follow. All are multiples of 8.
struct LogCopy {
  uint64_t address;
  uint64_t size;
};

// A private mapping that could be written.
struct LogRange {
  uint64_t start;
  uint64_t end;
  uint64_t of_file;  // 1 when pages that were not written are a file's
};

struct LogMapList {
  uint32_t references;
  uint32_t count;
  LogRange ranges[kMostRanges];
};

struct LogFile {
  int32_t descriptor;
  int32_t flags;  // of open(2)
  uint64_t offset;
  uint32_t mode;
  uint32_t path;  // index of a LogPath
  uint64_t size;
};

struct LogFileList {
  uint32_t references;
  uint32_t count;
  LogFile files[kMostFiles];
};

struct LogPath {
  uint64_t device;
  uint64_t inode;
  char text[496];  // cut, if it is longer
};

static_assert(sizeof(LogHeader) == 272 && sizeof(LogFrame) == 264 && sizeof(LogPage) == 16);
static_assert(sizeof(LogFunction) == 88);
static_assert(sizeof(LogVersion) == 16 && sizeof(LogRange) == 24 && sizeof(LogFile) == 32 && sizeof(LogPath) == 512);

}  // namespace recrash::record

#endif  // RECRASH_SHADOWSTACK_LOG_FORMAT_H_
