#include "agent/report/writer.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "agent/base/crc32c.h"
#include "agent/base/file_io.h"
#include "agent/report/archive.h"
#include "agent/report/format.h"
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

Result<Section> WriteRecords(OutputFile* file, SectionKind kind, uint32_t flags, uint64_t offset,
                             const std::vector<uint8_t>& bytes) {
  SectionWriter writer(file, kind, flags, offset);
  if (Status status = writer.Append(bytes.data(), bytes.size()); !status) return status.error();
  return writer.Finish();
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

Status AppendPacked(const Region& region, WordPacker* packer, SectionWriter* writer) {
  const std::span<const uint8_t> bytes = region.bytes;
  std::vector<uint8_t> packed;
  for (size_t offset = 0; offset < bytes.size(); offset += format::kPiece) {
    packed.clear();
    packer->Pack({region.address.value, bytes.size()}, offset,
                 bytes.subspan(offset, std::min(format::kPiece, bytes.size() - offset)), &packed);
    if (Status status = writer->Append(packed.data(), packed.size()); !status) return status;
  }
  return Ok{};
}

// Through `packer` when there is one.
Status AppendRuns(SectionWriter* writer, WordPacker* packer, const Regions& regions) {
  std::vector<format::Run> runs;
  for (const Region* region : regions)
    if (!region->bytes.empty()) runs.push_back({region->address.value, region->bytes.size()});
  const uint64_t count = runs.size();
  if (Status status = writer->Append(&count, sizeof count); !status) return status;
  if (Status status = writer->Append(runs.data(), runs.size() * sizeof(format::Run)); !status) return status;
  for (const Region* region : regions)
    if (Status status = packer != nullptr ? AppendPacked(*region, packer, writer)
                                          : writer->Append(region->bytes.data(), region->bytes.size());
        !status)
      return status;
  return Ok{};
}

// Packed words for memory; code and read-only data have few pointers and lose by it.
Result<Section> WriteRuns(OutputFile* file, SectionKind kind, uint32_t flags, uint64_t offset, const Regions& regions) {
  const bool words = kind == SectionKind::kMemory;
  SectionWriter writer(file, kind, flags, offset, words ? Compression::kZstdWords : Compression::kZstdChunks);
  WordPacker packer;
  if (Status status = AppendRuns(&writer, words ? &packer : nullptr, regions); !status) return status.error();
  return writer.Finish();
}

Regions PointersTo(const std::vector<Region>& regions) {
  Regions pointers;
  for (const Region& region : regions) pointers.push_back(&region);
  return pointers;
}

// Frames share addresses, so the runs of each entry state, or snapshot, stand by themselves, in the order of the
// records.
template <typename State>
Result<Section> WriteRunsOfEach(OutputFile* file, SectionKind kind, uint64_t offset, const std::vector<State>& states) {
  SectionWriter writer(file, kind, format::kOptional, offset);
  for (const State& state : states)
    if (Status status = AppendRuns(&writer, nullptr, PointersTo(state.memory)); !status) return status.error();
  return writer.Finish();
}

// The contents of those that are held, one behind the other; their sizes stand in the metadata.
Result<Section> WriteInputs(OutputFile* file, uint64_t offset, const std::vector<Input>& inputs) {
  SectionWriter writer(file, SectionKind::kInputs, format::kOptional, offset);
  for (const Input& input : inputs)
    if (Status status = writer.Append(input.bytes.data(), input.bytes.size()); !status) return status.error();
  return writer.Finish();
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

Status WriteHeader(OutputFile* file, const std::vector<Section>& sections) {
  format::Header header{};
  std::memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.section_count = static_cast<uint32_t>(sections.size());
  header.file_size = sections.back().offset + sections.back().stored_length;
  const size_t table_size = sections.size() * sizeof(Section);
  header.crc = ExtendCrc32c(ExtendCrc32c(0, &header, sizeof header), sections.data(), table_size);
  if (Status status = file->WriteAt(0, &header, sizeof header); !status) return status;
  return file->WriteAt(sizeof header, sections.data(), table_size);
}

}  // namespace

Status WriteReport(const Report& report, const std::string& path) {
  if (Status status = CheckOrder(report.memory, path); !status) return status;
  if (Status status = CheckInputs(report.inputs, path); !status) return status;
  Result<std::vector<uint8_t>> metadata = EncodeMetadata(report);
  if (!metadata) return NotWritten(path, metadata.error().message);
  Result<std::vector<uint8_t>> replay = std::vector<uint8_t>();
  if (report.replay) {
    if (Status status = CheckImages(report.replay->images, path); !status) return status;
    replay = EncodeReplay(*report.replay);
    if (!replay) return NotWritten(path, replay.error().message);
    for (const EntryState& state : report.replay->entry_states)
      if (Status status = CheckOrder(state.memory, path); !status) return status;
  }
  Result<std::vector<uint8_t>> snapshots = std::vector<uint8_t>();
  if (report.snapshots) {
    snapshots = EncodeSnapshots(*report.snapshots);
    if (!snapshots) return NotWritten(path, snapshots.error().message);
    for (const EntrySnapshot& snapshot : report.snapshots->entries)
      if (Status status = CheckOrder(snapshot.memory, path); !status) return status;
  }

  Regions image;
  if (report.replay)
    for (const ModuleImage& module : report.replay->images)
      for (const Region& region : module.read_only) image.push_back(&region);

  Result<OutputFile> file = OutputFile::Create(path);
  if (!file) return file.error();
  std::vector<Section> sections;
  const bool has_inputs = std::ranges::any_of(report.inputs, &Input::held);
  const bool has_states = report.replay && !report.replay->entry_states.empty();
  const size_t section_count =
      2 + (has_inputs ? 1 : 0) + (report.replay ? 2 : 0) + (has_states ? 1 : 0) + (report.snapshots ? 2 : 0);
  uint64_t offset = sizeof(format::Header) + section_count * sizeof(Section);
  const auto add = [&](Result<Section> section) -> Status {
    if (!section) return section.error();
    offset += section->stored_length;
    sections.push_back(*section);
    return Ok{};
  };
  if (Status s = add(WriteRecords(&*file, SectionKind::kMetadata, 0, offset, *metadata)); !s) return s;
  if (Status s = add(WriteRuns(&*file, SectionKind::kMemory, 0, offset, PointersTo(report.memory))); !s) return s;
  if (has_inputs) {
    if (Status s = add(WriteInputs(&*file, offset, report.inputs)); !s) return s;
  }
  if (report.replay) {
    if (Status s = add(WriteRecords(&*file, SectionKind::kReplay, format::kOptional, offset, *replay)); !s) return s;
    if (Status s = add(WriteRuns(&*file, SectionKind::kImage, format::kOptional, offset, image)); !s) return s;
  }
  if (has_states) {
    if (Status s = add(WriteRunsOfEach(&*file, SectionKind::kEntryStates, offset, report.replay->entry_states)); !s)
      return s;
  }
  if (report.snapshots) {
    if (Status s = add(WriteRecords(&*file, SectionKind::kSnapshots, format::kOptional, offset, *snapshots)); !s)
      return s;
    if (Status s = add(WriteRunsOfEach(&*file, SectionKind::kSnapshotPages, offset, report.snapshots->entries)); !s)
      return s;
  }
  if (Status status = WriteHeader(&*file, sections); !status) return status;
  return file->Keep();
}

}  // namespace recrash
