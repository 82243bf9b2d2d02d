// make_seeds FOLDER: writes the first inputs of each target, FOLDER/TARGET/NAME, with our own writers.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/bundle/zip_writer.h"
#include "agent/client/record/version_log.h"
#include "agent/report/archive.h"
#include "agent/report/profile.h"
#include "agent/report/testing_reports.h"
#include "agent/report/writer.h"
#include "shadowstack/abi.h"
#include "shadowstack/raw_format.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

class Seeds {
 public:
  Seeds(const fs::path& folder, const std::string& target) : folder_(folder / target) {
    fs::create_directories(folder_);
  }
  fs::path operator/(const std::string& name) const { return folder_ / name; }
  void Add(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

 private:
  fs::path folder_;
};

std::string Text(const Result<std::vector<uint8_t>>& bytes) {
  if (!bytes) std::abort();
  return {bytes->begin(), bytes->end()};
}

template <typename T>
std::string Raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A small stack: the fuzzer gets further with short inputs.
TestReport ShortReport() {
  TestReport report = FullReport();
  report.memory.back().bytes.resize(4096);
  return report;
}

void AddReports(const Seeds& seeds) {
  const TestReport report = ShortReport();
  if (!WriteReport(SmallReport(), seeds / "small") || !WriteReport(report, seeds / "tests") ||
      !WriteReport(static_cast<const Report&>(report), seeds / "crash"))
    std::abort();
}

void AddBundles(const Seeds& seeds) {
  const std::vector<ZipMember> members = {
      {"README.md", std::vector<uint8_t>(200, 'x')}, {"a.rcr", {'r', 'c'}}, {"a.dmp", {'M', 'D', 'M', 'P'}}};
  seeds.Add("whole", Text(MakeZip(members, 0)));
  seeds.Add("report", Text(MakeZip(std::span(members).subspan(1, 1), 0)));
}

void AddMetadata(const Seeds& seeds) {
  for (const TestReport& report : {SmallReport(), FullReport()}) {
    const std::string size = std::to_string(report.losses.size());
    for (uint8_t version = 1; version <= format::kVersion; ++version) {
      const std::string name = size + "-" + std::to_string(version);
      const auto kind = [&](int number) { return std::string(1, static_cast<char>(number + (version - 1) * 3)); };
      seeds.Add("metadata" + name, kind(0) + Text(EncodeMetadata(report, version)));
      seeds.Add("replay" + name, kind(1) + Text(EncodeReplay(report.replay, version)));
      if (report.snapshots) seeds.Add("snapshots" + name, kind(2) + Text(EncodeSnapshots(*report.snapshots, version)));
    }
  }
}

void AddProfiles(const Seeds& seeds) {
  Profile profile;
  profile.functions = {{"0123abcd", 0x1234, "_ZN4Tree6InsertEi", 5, 6, 2, 1000}, {"", std::nullopt, "main"}};
  seeds.Add("two", ProfileText(profile));
}

// A raw report's blocks for a log of entries of one live frame, whose stack is in the page at `stack`.
std::string LogBlocks(uint64_t stack, bool copies) {
  constexpr uint64_t kAt = 0x2000000, kHeap = 0x1000000, kPage = 4096;
  std::vector<uint8_t> bytes(record::VersionLog::SizeFor(64 << 10, 4));
  record::VersionLog log = {};
  log.Begin(bytes.data(), 64 << 10, 4);
  record::LogHeader& header = log.header();
  header.pid = 7;
  header.number = 1;
  header.copy_depth = copies ? 3 : 0;
  log.map_lists()[0].count = 2;
  log.map_lists()[0].ranges[0] = {kHeap, kHeap + kPage, 0};
  log.map_lists()[0].ranges[1] = {stack, stack + kPage, 0};
  record::LogFrame frame = {};
  frame.number = 1;
  frame.registers.entry = 0x400100;
  frame.registers.sp = stack + 8;
  frame.return_address = 0x7878787878787878;
  log.FunctionAt(frame.registers.entry);
  if (copies) {
    frame.copies = log.TakePage(1);
    frame.copy_bytes = 24;
    const uint64_t copy[] = {kHeap + 64, 8, 5};
    std::memcpy(log.Content(frame.copies), copy, sizeof copy);
  } else {
    log.Save(kHeap, 1, std::vector<uint8_t>(kPage, 'y').data());
  }
  log.Add(frame);
  header.start = kAt;
  std::string text;
  const auto add = [&](raw::BlockKind kind, const std::string& payload) {
    text += Raw(raw::RawBlock{kind, 0, payload.size()}) + payload;
  };
  for (uint64_t at = 0; at < bytes.size(); at += kPage) {
    const std::string page(reinterpret_cast<const char*>(&bytes[at]), std::min<size_t>(kPage, bytes.size() - at));
    if (page.find_first_not_of('\0') != page.npos)
      add(raw::BlockKind::kMemory, Raw(raw::RawMemory{kAt + at}) + page.substr(0, page.find_last_not_of('\0') + 1));
  }
  add(raw::BlockKind::kEntryLog, Raw(raw::RawEntryLog{kAt, bytes.size(), 1000, {3, 4, 5}, 1}));
  return text;
}

void AddRawReports(const Seeds& seeds) {
  abi::CrashRecord record{};
  record.magic = abi::kCrashMagic;
  record.version = abi::kCrashVersion;
  record.size = sizeof record;
  record.kind = abi::FailureKind::kException;
  record.pid = record.tid = 7;
  constexpr uint64_t kStack = 0x1010000;
  record.context.uc_mcontext.gregs[REG_RSP] = kStack;
  abi::ThrowRecord thrown{};
  thrown.armed = 1;
  thrown.stack_address = 0x7ffe00000000;
  thrown.stack_size = 5;
  std::strcpy(thrown.type, "St13runtime_error");
  const std::string maps =
      "00400000-00402000 r-xp 00000000 fe:01 1234    /nowhere/server\n"
      "01000000-01021000 rw-p 00000000 00:00 0       [heap]\n";
  std::string text = Raw(raw::RawHeader{raw::kMagic, raw::kVersion, sizeof(raw::RawHeader)});
  const auto add = [&](raw::BlockKind kind, const std::string& payload) {
    text += Raw(raw::RawBlock{kind, 0, payload.size()}) + payload;
  };
  using enum raw::BlockKind;
  add(kRecord, Raw(record));
  add(kProcess, Raw(raw::RawProcess{0x7f00, 0x1021000, 8 << 20, 1700000000}));
  add(kThrow, Raw(thrown) + "stack");
  add(kReplaced, Raw(thrown) + "stack");
  add(kExecutable, "/nowhere/server");
  add(kCommandLine, std::string("server\0--port\0", 14));
  add(kMaps, maps);
  add(kStat, "42 (server) S 1 2 3");
  add(kAbortMessage, "free(): invalid pointer\n");
  add(kThread, Raw(raw::RawThread{7, 1, "server"}));
  add(kFile, Raw(raw::RawFile{3, 2, 12, 0100644, 0, 34}) + "/tmp/input");
  add(kWithheld, Raw(raw::RawRange{0x1001000, 0x1002000}));
  add(kModuleHead, Raw(raw::RawMemory{0x400000}) + "\177ELF" + std::string(300, '\0'));
  add(kMemory, Raw(raw::RawMemory{0x1000000}) + std::string(4096, 'x'));
  const std::string stack = Raw(raw::RawMemory{kStack}) + std::string(4096, 'x');
  const std::string end = Raw(raw::RawBlock{kEnd, 0, 0});
  seeds.Add("exception", text + end);
  add(kMemory, stack);
  for (const bool copies : {false, true})
    seeds.Add(copies ? "copies" : "entries", text + LogBlocks(kStack, copies) + end);
}

// A part behind its size.
std::string Part(const std::string& bytes) { return Raw(static_cast<uint16_t>(bytes.size())) + bytes; }

void AddDesk(const Seeds& seeds) {
  for (const TestReport& report : {SmallReport(), FullReport()}) {
    for (const char choice : {0, 1}) {
      seeds.Add("report" + std::to_string(report.losses.size()) + "-" + std::to_string(choice),
                choice + Part(Text(EncodeMetadata(report))) + Part(Text(EncodeReplay(report.replay))) +
                    std::string("PATH=/bin\0 some text in memory\0", 31));
    }
  }
}

// Each function with some words in registers, heap and stack: numbers and addresses of each kind.
void AddValues(const Seeds& seeds) {
  for (int function = 0; function < 16; ++function) {
    std::string words(1, static_cast<char>(function % 4 == 3 ? function + 128 : function));
    for (int i = 0; i < 24; ++i)
      words += Raw(static_cast<uint16_t>(i * 5)) + Raw((uint64_t{1} << 56) * (i % 5) + uint64_t{8} * i);
    seeds.Add("function" + std::to_string(function), words);
  }
}

// Words of the log's header, which are read first and say whether the rest is; then words of all parts. For the log of
// pages and for that of copies.
void AddOverwrittenWords(const Seeds& seeds) {
  const auto word = [](int place, uint64_t value) { return Raw(static_cast<uint16_t>(place)) + Raw(value); };
  std::string words;
  for (int i = 0; i < 32; ++i) words += word(i * 10 + 1 + i % 9, uint64_t{3} * i);
  for (const char* kind : {"pages", "copies"}) {
    const std::string log(1, *kind == 'c');
    seeds.Add(std::string(kind) + "-header", log + word(99, 1));
    seeds.Add(std::string(kind) + "-parts", log + words);
  }
}

}  // namespace
}  // namespace recrash

int main(int count, char** arguments) {
  using namespace recrash;
  if (count != 2) return 2;
  const fs::path folder = arguments[1];
  AddReports(Seeds(folder, "container"));
  AddBundles(Seeds(folder, "bundle"));
  AddMetadata(Seeds(folder, "metadata"));
  AddDesk(Seeds(folder, "desk"));
  AddProfiles(Seeds(folder, "profile"));
  AddRawReports(Seeds(folder, "raw_report"));
  AddValues(Seeds(folder, "values"));
  AddOverwrittenWords(Seeds(folder, "version_log"));
  fs::copy_file(RECRASH_SEED_PROGRAM, Seeds(folder, "symbols") / "program", fs::copy_options::overwrite_existing);
  fs::copy_file(RECRASH_SEED_STRIPPED, Seeds(folder, "symbols") / "stripped", fs::copy_options::overwrite_existing);
  return 0;
}
