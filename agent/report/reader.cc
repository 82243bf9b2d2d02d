#include "agent/report/reader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "agent/base/crc32c.h"
#include "agent/base/file_io.h"
#include "agent/bundle/bundle.h"
#include "agent/report/archive.h"
#include "agent/report/format.h"
#include "agent/report/pages.h"
#include "agent/report/raw_reader.h"
#include "agent/report/section_io.h"
#include "agent/report/word_packing.h"
#include "shadowstack/raw_format.h"

namespace recrash {
namespace {

using format::Compression;
using format::Section;
using format::SectionKind;

struct KindOfSection {
  const char* name;
  uint64_t limit = 0;  // to what it may unpack; 0: ReadLimits::memory
};
constexpr KindOfSection kKinds[] = {{"metadata", format::kMaxMetadata},  // by SectionKind, from 1
                                    {"memory"},
                                    {"replay", format::kMaxReplay},
                                    {"image"},
                                    {"entry states"},
                                    {"inputs", format::kMaxInputs},
                                    {"snapshots", format::kMaxSnapshots},
                                    {"snapshot pages"}};
static_assert(std::size(kKinds) == static_cast<size_t>(SectionKind::kSnapshotPages));

// Null for a kind that is newer than this reader.
const KindOfSection* KindOf(const Section& section) {
  return section.kind >= 1 && section.kind <= std::size(kKinds) ? &kKinds[section.kind - 1] : nullptr;
}

std::string Describe(const Section& section) {
  if (const KindOfSection* kind = KindOf(section)) return kind->name;
  return "section of kind " + std::to_string(section.kind);
}

Error NewerVersion(const InputFile& file, const std::string& what) {
  return Error{Errc::kUnsupportedVersion,
               file.path() + ": " + what + "\n  read it with the release of recrash that wrote it, or a newer one"};
}

struct Table {
  uint32_t version;
  std::vector<Section> sections;
};

Result<Table> ReadTable(const InputFile& file) {
  format::Header header;
  if (Status status = file.ReadAt(0, &header, sizeof header); !status) return status.error();
  if (header.version > format::kVersion)
    return NewerVersion(file, "report version " + std::to_string(header.version) + ", newest understood is " +
                                  std::to_string(format::kVersion));
  if (header.version == 0) return file.Damaged("report version 0");
  if (header.section_count > format::kMaxSections)
    return file.Damaged("a table of " + std::to_string(header.section_count) + " sections, at most " +
                        std::to_string(format::kMaxSections) + " are possible");
  if (header.file_size != file.size())
    return file.Damaged("has " + std::to_string(file.size()) + " bytes, its header says " +
                        std::to_string(header.file_size));
  std::vector<Section> sections(header.section_count);
  const size_t table_size = sections.size() * sizeof(Section);
  if (Status status = file.ReadAt(sizeof header, sections.data(), table_size); !status) return status.error();
  const uint32_t crc = std::exchange(header.crc, 0);
  if (crc != ExtendCrc32c(ExtendCrc32c(0, &header, sizeof header), sections.data(), table_size))
    return file.Damaged("checksum of the header and the table of sections");
  return Table{header.version, std::move(sections)};
}

Compression NewestOf(const Section& section) {
  if (section.kind == static_cast<uint32_t>(SectionKind::kMemory)) return Compression::kZstdWords;
  if (section.kind == static_cast<uint32_t>(SectionKind::kEntryStates)) return Compression::kZstdWordsOver;
  return Compression::kZstdChunks;
}

Status CheckSection(const InputFile& file, const Section& section, const KindOfSection& kind,
                    const ReadLimits& limits) {
  const std::string name = kind.name;
  if (section.compression > static_cast<uint32_t>(NewestOf(section)))
    return file.Damaged(name + ": compression " + std::to_string(section.compression) + " is not known");
  if (section.compression == static_cast<uint32_t>(Compression::kNone) && section.length != section.stored_length)
    return file.Damaged(name + ": " + std::to_string(section.stored_length) + " bytes stored of " +
                        std::to_string(section.length) + ", yet not compressed");
  const auto compression = static_cast<Compression>(section.compression);
  if (section.length > (kind.limit ? kind.limit : limits.memory) ||
      !format::PlausibleLength(compression, section.stored_length, section.length))
    return file.Damaged(name + ": " + std::to_string(section.stored_length) + " bytes that would unpack to " +
                        std::to_string(section.length));
  return Ok{};
}

// Sections lie one behind the other without gaps up to the file's end, so that a checksum covers each byte.
Status CheckLayout(const InputFile& file, const std::vector<Section>& sections, const ReadLimits& limits) {
  uint64_t offset = sizeof(format::Header) + sections.size() * sizeof(Section);
  for (const Section& section : sections) {
    if (section.offset != offset || section.stored_length > file.size() - offset)
      return file.Damaged(Describe(section) + ": lies at byte " + std::to_string(section.offset) + " with " +
                          std::to_string(section.stored_length) + " bytes, expected at " + std::to_string(offset));
    offset += section.stored_length;
    const KindOfSection* kind = KindOf(section);
    if (!kind) {
      if (!(section.flags & format::kOptional))
        return NewerVersion(file, "has a " + Describe(section) + ", which this version does not know");
      continue;
    }
    for (const Section* other = sections.data(); other != &section; ++other)
      if (other->kind == section.kind) return file.Damaged("a second " + Describe(section) + " section");
    if (Status status = CheckSection(file, section, *kind, limits); !status) return status;
  }
  if (offset != file.size())
    return file.Damaged(std::to_string(file.size() - offset) + " bytes after the last section");
  return Ok{};
}

Status CheckSum(const InputFile& file, const Section& section) {
  std::vector<uint8_t> buffer(std::min<uint64_t>(section.stored_length, format::kMaxChunk));
  uint32_t crc = 0;
  for (uint64_t done = 0; done < section.stored_length;) {
    const size_t part = std::min<uint64_t>(buffer.size(), section.stored_length - done);
    if (Status status = file.ReadAt(section.offset + done, buffer.data(), part); !status) return status;
    crc = ExtendCrc32c(crc, buffer.data(), part);
    done += part;
  }
  if (crc != section.crc) return file.Damaged(Describe(section) + ": checksum");
  return Ok{};
}

const Section* Find(const std::vector<Section>& sections, SectionKind kind) {
  for (const Section& section : sections)
    if (section.kind == static_cast<uint32_t>(kind)) return &section;
  return nullptr;
}

// Reads a whole section of records, then decodes it.
template <typename Decoder>
Status ReadRecords(const InputFile& file, const Section& section, Decoder decode) {
  SectionReader reader(&file, section, Describe(section));
  std::vector<uint8_t> bytes;
  if (Status status = reader.Append(section.length, &bytes); !status) return status;
  if (Status status = reader.ExpectEnd(); !status) return status;
  Status status = decode(bytes);
  if (!status && status.error().code == Errc::kDamaged) return reader.Damaged(status.error().message);
  return status;
}

Status ReadPacked(SectionReader* reader, WordUnpacker* unpacker, const format::Run& run, std::vector<uint8_t>* bytes) {
  for (uint64_t offset = 0; offset < run.length; offset += format::kPiece) {
    const size_t size = std::min<uint64_t>(format::kPiece, run.length - offset);
    if (Status status = unpacker->Unpack(reader, run, offset, size, bytes); !status) return status;
  }
  return Ok{};
}

// The fewest bytes of a section that a run can take.
uint64_t LeastStored(const format::Run& run, bool words) {
  return words ? run.length / 8 + (run.length % 8 != 0) : run.length;
}

// What of ReadLimits::memory is left: all sections of a report share it.
using Budget = uint64_t;

// The table of runs, before anything is unpacked for it: whether they fit the section and the budget.
Result<std::vector<format::Run>> ReadTableOfRuns(SectionReader& reader, bool words, Budget* budget) {
  uint64_t count;
  if (Status status = reader.Read(&count, sizeof count); !status) return status.error();
  if (count > reader.left() / (sizeof(format::Run) + 1))
    return reader.Damaged(std::to_string(count) + " runs in " + std::to_string(reader.left()) + " bytes");
  std::vector<format::Run> runs;
  while (runs.size() < count) {
    const size_t part = std::min<uint64_t>(count - runs.size(), format::kMaxChunk / sizeof(format::Run));
    runs.resize(runs.size() + part);
    if (Status status = reader.Read(&runs[runs.size() - part], part * sizeof(format::Run)); !status)
      return status.error();
  }
  uint64_t end = 0;
  uint64_t bytes_left = reader.left();
  uint64_t total = 0;
  for (const format::Run& run : runs) {
    if (run.length == 0 || run.address < end || run.length > UINT64_MAX - run.address ||
        LeastStored(run, words) > bytes_left)
      return reader.Damaged("run " + std::to_string(&run - runs.data()) +
                            " is empty, out of order or longer than the section");
    end = run.address + run.length;
    bytes_left -= LeastStored(run, words);
    total += run.length;
  }
  if (total > *budget)
    return reader.Damaged("runs of " + std::to_string(total) + " bytes, at most " + std::to_string(*budget) +
                          " are read");
  *budget -= total;
  return runs;
}

// With an `unpacker` when the words are packed, else with null.
Status ReadRuns(SectionReader& reader, Budget* budget, WordUnpacker* unpacker, std::vector<Region>* regions) {
  const Result<std::vector<format::Run>> runs = ReadTableOfRuns(reader, unpacker != nullptr, budget);
  if (!runs) return runs.error();
  for (const format::Run& run : *runs) {
    Region region{{run.address}, {}};
    if (Status status =
            unpacker ? ReadPacked(&reader, unpacker, run, &region.bytes) : reader.Append(run.length, &region.bytes);
        !status)
      return status;
    regions->push_back(std::move(region));
  }
  return Ok{};
}

Status ReadRuns(const InputFile& file, const Section& section, Budget* budget, std::vector<Region>* regions) {
  SectionReader reader(&file, section, Describe(section));
  WordUnpacker unpacker;
  const bool words = section.compression == static_cast<uint32_t>(Compression::kZstdWords);
  if (Status status = ReadRuns(reader, budget, words ? &unpacker : nullptr, regions); !status) return status;
  return reader.ExpectEnd();
}

// The images are in order: a run belongs to the last image that begins before it.
Status ReadImages(const InputFile& file, const Section& section, Budget* budget, std::vector<ModuleImage>* images) {
  std::vector<Region> runs;
  if (Status status = ReadRuns(file, section, budget, &runs); !status) return status;
  for (Region& run : runs) {
    const auto after = std::ranges::upper_bound(*images, run.address, {}, &ModuleImage::base);
    if (after == images->begin()) return file.Damaged(Describe(section) + ": a run below the first module's image");
    after[-1].read_only.push_back(std::move(run));
  }
  return Ok{};
}

// The section holds the runs of each of `count` entry states, one state after the other. Packed ones lie over `memory`
// and the states before.
Result<std::vector<EntryMemory::Layer>> ReadLayers(const InputFile& file, const Section& section, size_t count,
                                                   const std::vector<Region>& memory, Budget* budget) {
  SectionReader reader(&file, section, Describe(section));
  std::vector<EntryMemory::Layer> layers(count);
  const bool words = format::IsPackedWords(static_cast<Compression>(section.compression));
  const bool over = section.compression == static_cast<uint32_t>(Compression::kZstdWordsOver);
  Pages below;
  if (over) LayPages(memory, &below);
  WordUnpacker unpacker(&below);
  for (EntryMemory::Layer& layer : layers) {
    if (Status status = ReadRuns(reader, budget, words ? &unpacker : nullptr, &layer); !status) return status.error();
    if (over) LayPages(layer, &below);
  }
  if (Status status = reader.ExpectEnd(); !status) return status.error();
  return layers;
}

Status ReadReplay(const InputFile& file, const Table& table, const Section& section, const std::vector<Region>& memory,
                  Budget* budget, ReplayData* replay) {
  const std::vector<Section>& sections = table.sections;
  const auto decode = [&](const auto& bytes) { return DecodeReplay(bytes, table.version, replay); };
  if (Status status = ReadRecords(file, section, decode); !status) return status;
  if (const Section* image = Find(sections, SectionKind::kImage))
    if (Status status = ReadImages(file, *image, budget, &replay->images); !status) return status;
  std::vector<EntryState>& states = replay->entry_states;
  const Section* pages = Find(sections, SectionKind::kEntryStates);
  if (!pages) return states.empty() ? Status(Ok{}) : file.Damaged("has entry states, and not their memory");
  Result<std::vector<EntryMemory::Layer>> layers = ReadLayers(file, *pages, states.size(), memory, budget);
  if (!layers) return layers.error();
  for (size_t i = 0; i < states.size(); ++i) states[i].memory = std::move((*layers)[i]);
  return Ok{};
}

Status ReadSnapshots(const InputFile& file, const Table& table, const Section& section, Budget* budget,
                     SnapshotLog* snapshots) {
  const auto decode = [&](const auto& bytes) { return DecodeSnapshots(bytes, table.version, snapshots); };
  if (Status status = ReadRecords(file, section, decode); !status) return status;
  std::vector<EntryState>& states = snapshots->states;
  const Section* pages = Find(table.sections, SectionKind::kSnapshotPages);
  if (!pages) return states.empty() ? Status(Ok{}) : file.Damaged("has snapshots, and not their pages");
  Result<std::vector<EntryMemory::Layer>> layers = ReadLayers(file, *pages, states.size(), {}, budget);
  if (!layers) return layers.error();
  std::vector<EntryMemory> memories = EntryMemory::Of(*std::move(layers));
  for (size_t i = 0; i < states.size(); ++i) states[i].memory = std::move(memories[i]);
  return Ok{};
}

// The metadata says which bytes of the section belong to which input. Without a section no input may be held.
Status ReadInputs(const InputFile& file, const Section* section, std::vector<Input>* inputs) {
  uint64_t needed = 0;
  for (const Input& input : *inputs)
    if (input.held()) needed += input.size;  // of at most kMaxInputs each, and far fewer than 2^32
  const uint64_t length = section ? section->length : 0;
  if (needed != length)
    return file.Damaged("inputs: " + std::to_string(length) + " bytes, the metadata says " + std::to_string(needed));
  if (!section) return Ok{};
  SectionReader reader(&file, *section, Describe(*section));
  for (Input& input : *inputs) {
    if (!input.held()) continue;
    if (Status status = reader.Append(input.size, &input.bytes); !status) return status;
  }
  return reader.ExpectEnd();
}

Error NoTests(const std::string& path) {
  return {Errc::kMissing,
          path + ": needed a report with frames to replay, found one without\n  make it with recrash generate"};
}

// What of a report is read.
enum class Extent { kMetadata, kSignature, kReport, kTests };

Result<Report> ReadMetadataSection(const InputFile& file, const Table& table) {
  const std::vector<Section>& sections = table.sections;
  const Section* metadata = Find(sections, SectionKind::kMetadata);
  if (!metadata || !Find(sections, SectionKind::kMemory)) return file.Damaged("has no metadata or no memory section");
  if (Status status = CheckSum(file, *metadata); !status) return status.error();
  Report report;
  if (Status status = ReadRecords(file, *metadata,
                                  [&](const auto& bytes) { return DecodeMetadata(bytes, table.version, &report); });
      !status)
    return status.error();
  return report;
}

// `tests` is needed for Extent::kTests alone.
Result<Report> ReadContainer(const InputFile& file, const ReadLimits& limits, Extent extent, ReplayData* tests) {
  const Result<Table> table = ReadTable(file);
  if (!table) return table.error();
  const std::vector<Section>* sections = &table->sections;
  if (Status status = CheckLayout(file, *sections, limits); !status) return status.error();
  if (extent == Extent::kMetadata || extent == Extent::kSignature) return ReadMetadataSection(file, *table);
  for (const Section& section : *sections)
    if (Status status = CheckSum(file, section); !status) return status.error();

  Result<Report> report = ReadMetadataSection(file, *table);
  if (!report) return report;
  Budget budget = limits.memory;
  if (Status status = ReadRuns(file, *Find(*sections, SectionKind::kMemory), &budget, &report->memory); !status)
    return status.error();
  if (Status status = ReadInputs(file, Find(*sections, SectionKind::kInputs), &report->inputs); !status)
    return status.error();
  if (const Section* section = Find(*sections, SectionKind::kSnapshots))
    if (Status status = ReadSnapshots(file, *table, *section, &budget, &report->snapshots.emplace()); !status)
      return status.error();
  if (extent == Extent::kReport) return report;
  const Section* section = Find(*sections, SectionKind::kReplay);
  if (!section) return NoTests(file.path());
  if (Status status = ReadReplay(file, *table, *section, report->memory, &budget, tests); !status)
    return status.error();
  return report;
}

RawExtent RawExtentOf(Extent extent) {
  if (extent == Extent::kMetadata) return RawExtent::kMetadata;
  return extent == Extent::kSignature ? RawExtent::kStack : RawExtent::kAll;
}

Result<Report> Read(const std::string& path, const ReadLimits& limits, Extent extent, ReplayData* tests) try {
  Result<InputFile> file = OpenReport(path);
  if (!file) return file.error();
  char magic[sizeof format::kMagic];
  if (Status status = file->ReadAt(0, magic, sizeof magic); !status) return status.error();
  if (std::memcmp(magic, format::kMagic, sizeof magic) == 0) return ReadContainer(*file, limits, extent, tests);
  if (std::memcmp(magic, &raw::kMagic, sizeof magic) == 0) {
    if (extent == Extent::kTests) return NoTests(path);
    return ReadRawReport(*file, limits, RawExtentOf(extent));
  }
  return file->Damaged("does not begin as a report does");
} catch (const std::bad_alloc&) {
  return Error{Errc::kRefused, path + ": not enough memory to read this report"};
}

}  // namespace

Result<Report> ReadReport(const std::string& path, const ReadLimits& limits) {
  return Read(path, limits, Extent::kReport, nullptr);
}

Result<Report> ReadMetadata(const std::string& path) { return Read(path, {}, Extent::kMetadata, nullptr); }

Result<Report> ReadForSignature(const std::string& path) { return Read(path, {}, Extent::kSignature, nullptr); }

Result<TestReport> ReadTestReport(const std::string& path, const ReadLimits& limits) {
  ReplayData tests;
  Result<Report> report = Read(path, limits, Extent::kTests, &tests);
  if (!report) return report.error();
  return TestReport{*std::move(report), std::move(tests)};
}

}  // namespace recrash
