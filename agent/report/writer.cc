#include "agent/report/writer.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "agent/base/crc32c.h"
#include "agent/base/file_io.h"
#include "agent/report/archive.h"
#include "agent/report/format.h"
#include "agent/report/pages.h"
#include "agent/report/section_io.h"
#include "agent/report/word_packing.h"

namespace recrash {
namespace {

using format::Compression;
using format::Section;
using format::SectionKind;

using Regions = std::vector<const Region*>;
constexpr char kImagesOutOfOrder[] = "images of modules are not in order or overlap";

Error NotWritten(const std::string& path, const std::string& why) {
  return Error{Errc::kRefused, path + ": report not written: " + why};
}

// Runs come out as they are in memory, in order; the reader's binary search relies on the order, so it is checked here.
Status CheckOrder(const std::vector<Region>& regions, const std::string& path) {
  TargetAddress end;
  for (const Region& region : regions) {
    if (region.address < end || region.address.value > UINT64_MAX - region.bytes.size())
      return NotWritten(path, "memory regions are not in order or overlap");
    end = region.address + region.bytes.size();
  }
  return Ok{};
}

// One section holds the runs of all images; where each image begins tells them apart again.
Status CheckImages(const std::vector<ModuleImage>& images, const std::string& path) {
  TargetAddress end;
  for (size_t i = 0; i < images.size(); ++i) {
    if (Status status = CheckOrder(images[i].read_only, path); !status) return status;
    for (const Region& region : images[i].read_only) {
      if (region.address < images[i].base) return NotWritten(path, kImagesOutOfOrder);
      end = region.address + region.bytes.size();
    }
    if (i + 1 == images.size()) break;
    if (images[i + 1].base <= images[i].base || end > images[i + 1].base) return NotWritten(path, kImagesOutOfOrder);
  }
  return Ok{};
}

// `read` gives the bytes of a piece, by offset and size.
template <typename Read>
void AppendPacked(const format::Run& run, WordPacker* packer, SectionWriter* writer, Read read) {
  std::vector<uint8_t> packed;
  for (uint64_t offset = 0; offset < run.length; offset += format::kPiece) {
    packed.clear();
    packer->Pack(run, offset, read(offset, std::min<uint64_t>(format::kPiece, run.length - offset)), &packed);
    writer->Append(packed.data(), packed.size());
  }
}

void AppendPacked(const Region& region, WordPacker* packer, SectionWriter* writer) {
  AppendPacked({region.address.value, region.bytes.size()}, packer, writer,
               [&](uint64_t offset, uint64_t size) { return std::span(region.bytes).subspan(offset, size); });
}

void AppendPacked(const LaterMemory& later, const format::Run& run, WordPacker* packer, SectionWriter* writer) {
  std::vector<uint8_t> piece(format::kPiece);
  AppendPacked(run, packer, writer, [&](uint64_t offset, uint64_t size) {
    later.Read({run.address + offset}, std::span(piece).first(size));
    return std::span<const uint8_t>(piece).first(size);
  });
}

void AppendTable(SectionWriter* writer, const std::vector<format::Run>& runs) {
  const uint64_t count = runs.size();
  writer->Append(&count, sizeof count);
  writer->Append(runs.data(), runs.size() * sizeof(format::Run));
}

// Through `packer` when there is one.
void AppendRuns(SectionWriter* writer, WordPacker* packer, const Regions& regions) {
  std::vector<format::Run> runs;
  for (const Region* region : regions)
    if (!region->bytes.empty()) runs.push_back({region->address.value, region->bytes.size()});
  AppendTable(writer, runs);
  for (const Region* region : regions) {
    if (packer != nullptr)
      AppendPacked(*region, packer, writer);
    else
      writer->Append(region->bytes.data(), region->bytes.size());
  }
}

Regions PointersTo(const std::vector<Region>& regions) {
  Regions pointers;
  for (const Region& region : regions) pointers.push_back(&region);
  return pointers;
}

// The file has of each state its own layer alone: the reader lays it over those of the states after it.
Status CheckLog(const std::vector<EntryState>& states, const std::string& path) {
  for (size_t i = 0; i < states.size(); ++i) {
    const std::span<const EntryMemory::Layer> layers = states[i].memory.layers();
    if (layers.size() != states.size() - i || &layers.back() != &states.back().memory.own())
      return NotWritten(path, "recorded entry states do not share their pages");
    if (Status status = CheckOrder(layers.front(), path); !status) return status;
  }
  return Ok{};
}

// Content and what the metadata says of it agree; the reader cuts the section by that.
Status CheckInputs(const std::vector<Input>& inputs, const std::string& path) {
  uint64_t all = 0;
  for (const Input& input : inputs) {
    if (input.bytes.size() != (input.held() ? input.size : 0))
      return NotWritten(path, "an input's content is not of the size that it says");
    all += input.bytes.size();
  }
  if (all > format::kMaxInputs) return NotWritten(path, "more than 64 MiB of inputs");
  return Ok{};
}

// The sections of one report, written one behind the other. The file keeps the error of a write that failed.
class Container {
 public:
  Container(OutputFile* file, size_t section_count, Effort effort)
      : file_(file), effort_(effort), offset_(sizeof(format::Header) + section_count * sizeof(Section)) {}

  void AddRecords(SectionKind kind, uint32_t flags, const std::vector<uint8_t>& bytes) {
    SectionWriter writer(file_, kind, flags, offset_, effort_);
    writer.Append(bytes.data(), bytes.size());
    Add(&writer);
  }

  // Packed words for memory; code and read-only data have few pointers and lose by it.
  void AddMemory(const std::vector<Region>& memory, const LaterMemory* later) {
    SectionWriter writer(file_, SectionKind::kMemory, 0, offset_, effort_, Compression::kZstdWords);
    WordPacker packer;
    std::map<uint64_t, const Region*> held;
    std::vector<format::Run> runs;
    for (const Region& region : memory) {
      if (region.bytes.empty()) continue;
      held[region.address.value] = &region;
      runs.push_back({region.address.value, region.bytes.size()});
    }
    if (later)
      for (const LaterMemory::Range& range : later->ranges()) runs.push_back({range.address.value, range.size});
    std::ranges::sort(runs, {}, &format::Run::address);
    AppendTable(&writer, runs);
    for (const format::Run& run : runs) {
      if (const auto region = held.find(run.address); region != held.end())
        AppendPacked(*region->second, &packer, &writer);
      else
        AppendPacked(*later, run, &packer, &writer);
    }
    Add(&writer);
  }

  void AddImages(const std::vector<ModuleImage>& images) {
    SectionWriter writer(file_, SectionKind::kImage, format::kOptional, offset_, effort_);
    Regions regions;
    for (const ModuleImage& image : images)
      for (const Region& region : image.read_only) regions.push_back(&region);
    AppendRuns(&writer, nullptr, regions);
    Add(&writer);
  }

  // Frames share addresses, so the runs of each entry state stand by themselves, in the order of the records. A state
  // that tests start from has all of its pages, most of which differ little from those of the state before it and of
  // the crash; those of a recording have a layer each.
  void AddEntryStates(const Report& report, const std::vector<EntryState>& states) {
    SectionWriter writer(file_, SectionKind::kEntryStates, format::kOptional, offset_, effort_,
                         Compression::kZstdWordsOver);
    Pages below;
    LayPages(report.memory, &below);
    WordPacker packer(&below);
    std::deque<EntryMemory::Layer> joined;  // `below` has pages of them
    for (const EntryState& state : states) {
      const bool alone = state.memory.layers().size() <= 1;
      const EntryMemory::Layer& pages =
          alone ? state.memory.own() : joined.emplace_back(JoinPages(PagesOf(report, state)));
      AppendRuns(&writer, &packer, PointersTo(pages));
      LayPages(pages, &below);
    }
    Add(&writer);
  }

  void AddSnapshotPages(const std::vector<EntryState>& states) {
    SectionWriter writer(file_, SectionKind::kSnapshotPages, format::kOptional, offset_, effort_);
    for (const EntryState& state : states) AppendRuns(&writer, nullptr, PointersTo(state.memory.own()));
    Add(&writer);
  }

  // The contents of those that are held, one behind the other; their sizes stand in the metadata.
  void AddInputs(const std::vector<Input>& inputs) {
    SectionWriter writer(file_, SectionKind::kInputs, format::kOptional, offset_, effort_);
    for (const Input& input : inputs) writer.Append(input.bytes.data(), input.bytes.size());
    Add(&writer);
  }

  void WriteHeader() {
    format::Header header{};
    std::memcpy(header.magic, format::kMagic, sizeof header.magic);
    header.version = format::kVersion;
    header.section_count = static_cast<uint32_t>(sections_.size());
    header.file_size = offset_;
    const size_t table_size = sections_.size() * sizeof(Section);
    header.crc = ExtendCrc32c(ExtendCrc32c(0, &header, sizeof header), sections_.data(), table_size);
    file_->WriteAt(0, &header, sizeof header);
    file_->WriteAt(sizeof header, sections_.data(), table_size);
  }

 private:
  void Add(SectionWriter* writer) {
    sections_.push_back(writer->Finish());
    offset_ += sections_.back().stored_length;
  }

  OutputFile* file_;
  Effort effort_;
  uint64_t offset_;
  std::vector<Section> sections_;
};

struct Records {
  std::vector<uint8_t> metadata, replay, snapshots;
};

// Checks the report as well: nothing of one that cannot be written goes to disk. `tests` is null where there are none.
Result<Records> EncodeRecords(const Report& report, const ReplayData* tests, const std::string& path) {
  Records records;
  const auto take = [&](Result<std::vector<uint8_t>> bytes, std::vector<uint8_t>* out) -> Status {
    if (!bytes) return NotWritten(path, bytes.error().message);
    *out = *std::move(bytes);
    return Ok{};
  };
  if (Status s = CheckOrder(report.memory, path); !s) return s.error();
  if (Status s = CheckInputs(report.inputs, path); !s) return s.error();
  if (Status s = take(EncodeMetadata(report), &records.metadata); !s) return s.error();
  if (tests) {
    if (Status s = CheckImages(tests->images, path); !s) return s.error();
    if (Status s = take(EncodeReplay(*tests), &records.replay); !s) return s.error();
    for (const EntryState& state : tests->entry_states)
      if (Status s = CheckOrder(state.memory.own(), path); !s) return s.error();
  }
  if (report.snapshots) {
    if (Status s = take(EncodeSnapshots(*report.snapshots), &records.snapshots); !s) return s.error();
    if (Status s = CheckLog(report.snapshots->states, path); !s) return s.error();
  }
  return records;
}

Status Write(const Report& report, const ReplayData* tests, Result<OutputFile> file, const LaterMemory* later) {
  if (!file) return file.error();
  const Result<Records> records = EncodeRecords(report, tests, file->path());
  if (!records) return records.error();
  const bool has_inputs = std::ranges::any_of(report.inputs, &Input::held);
  const bool has_states = tests && !tests->entry_states.empty();
  Container container(&*file, 2 + has_inputs + (tests ? 2 : 0) + has_states + (report.snapshots ? 2 : 0),
                      tests ? Effort::kSmallChunksTightly : Effort::kQuick);
  container.AddRecords(SectionKind::kMetadata, 0, records->metadata);
  container.AddMemory(report.memory, later);
  if (has_inputs) container.AddInputs(report.inputs);
  if (tests) {
    container.AddRecords(SectionKind::kReplay, format::kOptional, records->replay);
    container.AddImages(tests->images);
  }
  if (has_states) container.AddEntryStates(report, tests->entry_states);
  if (report.snapshots) {
    container.AddRecords(SectionKind::kSnapshots, format::kOptional, records->snapshots);
    container.AddSnapshotPages(report.snapshots->states);
  }
  container.WriteHeader();
  return file->Keep();
}

}  // namespace

Status WriteReport(const Report& report, const std::string& path, const LaterMemory* later) {
  return Write(report, nullptr, OutputFile::Create(path), later);
}

Status WriteReport(const TestReport& report, const std::string& path) {
  return Write(report, &report.replay, OutputFile::Create(path), nullptr);
}

Status WriteReport(const Report& report, OutputFile file, const LaterMemory* later) {
  return Write(report, nullptr, std::move(file), later);
}

}  // namespace recrash
