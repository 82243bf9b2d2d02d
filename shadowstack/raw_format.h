// The raw report, NAME.rcraw: the client writes it with plain system calls when no collector could be started, or none
// answered.
//
// A file is one RawHeader and then blocks, back to back, without padding: a RawBlock, then `length` bytes whose meaning
// is given by its kind. All numbers are little-endian. The writer does not know lengths in advance (it copies
// /proc/self/maps as it reads it), so blocks of one text kind may come several times: their payloads are joined in the
// order of the file. Blocks of a kind that the reader does not know are skipped. The last block is kEnd, length 0; a
// file without it was cut (full disk, time limit) and holds what it holds.
//
// The other threads are held while the client writes, or a kLoss says how many were not: these ran on, and the file has
// no registers of them.
//
//   kRecord       abi::CrashRecord, whole: its fields magic, version and size are checked by the reader. Registers of
//                 the failing thread are in context.uc_mcontext.gregs; report_path is not meaningful.
//   kProcess      RawProcess
//   kThrow        abi::ThrowRecord of an uncaught exception, then the stack_size bytes of the copy (none when the
//                 record is not armed)
//   kReplaced     the same, of the first exception that handlers replaced until that one was thrown
//   kExecutable   path of the program (/proc/self/exe), no NUL
//   kDirectory    working directory, no NUL
//   kCommandLine  /proc/self/cmdline: arguments, each ended by a NUL
//   kMaps         /proc/self/maps, text; without /proc what was found, in the same form
//   kStat         /proc/self/stat, text
//   kAbortMessage glibc's __abort_msg, no NUL
//   kThread       RawThread
//   kFile         RawFile, then the path that /proc/self/fd gives, no NUL
//   kModuleHead   RawMemory, then the first bytes, at most one page, of a file mapping with offset 0 that begins with
//                 an ELF header, or of the vdso. They hold the program headers and, as linkers lay files out, the
//                 build-id note
//   kMemory       RawMemory, then bytes: present pages of private writable mappings. Ascending, not overlapping, runs
//                 of at most 1 MiB. The client's own buffers are among them.
//   kRegisters    RawRegisters: of a thread that was held while the report was written, as its signal handler got them
//   kLoss         a sentence on memory that the report has not, no NUL
//   kOtherLoss    one on anything else
//   kEntryLog     RawEntryLog: where the log of a program lies that recorded its entries (log_format.h). It comes
//                 behind the memory, among which the log's pages are
//   kCode         RawMemory, then bytes: code around the failing instruction
//   kWithheld     RawRange: private writable memory that the program excludes from core dumps. Of a program that is not
//                 dumpable, all of it; there is no kMemory then
//   kAdditions    the head of abi::Additions, up to its states
//   kAddition     abi::Addition: a note, or the name of a file
//   kNamedFile    RawNamedFile, the path, and what is kept of the file: all of an attached one, or nothing; the end of
//   a
//                 log
#ifndef RECRASH_SHADOWSTACK_RAW_FORMAT_H_
#define RECRASH_SHADOWSTACK_RAW_FORMAT_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::raw {

constexpr uint64_t kMagic = 0x3157415248534352ull;  // "RCSHRAW1"
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxRun = 1 << 20;

struct RawHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;  // of this struct; blocks begin there
};

enum class BlockKind : uint32_t {
  kEnd = 0,
  kRecord = 1,
  kProcess = 2,
  kThrow = 3,
  kExecutable = 4,
  kDirectory = 5,
  kCommandLine = 6,
  kMaps = 7,
  kStat = 8,
  kAbortMessage = 9,
  kThread = 10,
  kFile = 11,
  kModuleHead = 12,
  kMemory = 13,
  kWithheld = 14,
  kReplaced = 15,
  kAdditions = 16,
  kAddition = 17,
  kNamedFile = 18,
  kRegisters = 32,
  kLoss = 33,
  kEntryLog = 34,
  kOtherLoss = 35,
  kCode = 40,
};

struct RawBlock {
  BlockKind kind;
  uint32_t reserved;  // 0
  uint64_t length;    // of the payload
};

struct RawProcess {
  uint64_t fs_base;  // of the failing thread
  uint64_t brk_end;
  uint64_t stack_limit;  // RLIMIT_STACK
  int64_t realtime_ns;   // Unix time
};

struct RawThread {
  int32_t id;
  uint32_t failing;  // 1 for the thread whose registers are in the record
  char name[16];     // NUL-padded
};

struct RawRegisters {
  int32_t id;  // of a RawThread
  uint32_t reserved;
  uint64_t fs_base;
  int64_t general[23];  // as in mcontext_t
  uint8_t fpstate[512];
};

struct RawFile {
  int32_t descriptor;
  int32_t flags;  // of open(2)
  uint64_t offset;
  uint32_t mode;  // st_mode
  uint32_t reserved;
  uint64_t size;
};

enum class NamedFileKind : uint32_t { kAttached = 1, kLog = 2, kStandardError = 3 };

struct RawNamedFile {
  NamedFileKind kind;
  uint32_t unreadable;  // 1: it is not there, is no regular file, or could not be read
  uint64_t size;        // of the file
  uint64_t path_size;
};

struct RawMemory {
  uint64_t address;
};

struct RawEntryLog {
  uint64_t start;
  uint64_t size;
  uint64_t process_cpu_ns;  // that the program has taken
  int32_t descriptors[3];   // the recorder's own
  uint32_t kept;            // 1: all of its pages that have content are in the file
};

struct RawRange {
  uint64_t start;
  uint64_t end;
};

static_assert(sizeof(RawHeader) == 16 && sizeof(RawBlock) == 16 && sizeof(RawProcess) == 32);
static_assert(sizeof(RawRegisters) == 16 + 23 * 8 + 512);
static_assert(sizeof(RawThread) == 24 && sizeof(RawNamedFile) == 24 && sizeof(RawFile) == 32 &&
              sizeof(RawMemory) == 8 && sizeof(RawRange) == 16 && sizeof(RawEntryLog) == 40);

}  // namespace recrash::raw

#endif  // RECRASH_SHADOWSTACK_RAW_FORMAT_H_
