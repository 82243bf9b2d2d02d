// recrash send: a crash to a server of Breakpad's protocol, after saying what and to whom.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/base/sha256.h"
#include "agent/base/text.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/parcel.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "integrations/upload/upload.h"

namespace recrash::cli {
namespace {

struct Fields {
  std::vector<std::pair<std::string, std::string>> values;
  std::string shown;  // a value that the user gave may be a key: the name alone
};

constexpr size_t kLongestAnswer = 300;

// Of the report: it is the same when somebody sends it twice, and says nothing of who that is.
std::string GuidOf(const std::vector<uint8_t>& report) {
  Sha256 hash;
  hash.Append(report);
  const std::string hex = hash.Finish();
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                     hex.substr(20, 12));
}

bool IsFieldName(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f && c != '"'; });
}

// What clients of Breakpad and Crashpad send, and what the user adds or says otherwise.
Result<Fields> FieldsOf(const SendArguments& arguments, const Parcel& parcel) {
  const Process& process = parcel.crash.report.process;
  Fields fields;
  fields.values = {{"prod", PrintableText(BaseName(process.program))},
                   {"ver", process.version.empty() ? "unknown" : PrintableText(process.version)},
                   {"guid", GuidOf(parcel.report)}};
  std::vector<std::string> names;
  for (const std::string& field : arguments.fields) {
    const size_t equals = field.find('=');
    const std::string name = field.substr(0, equals);
    if (equals == field.npos || !IsFieldName(name))
      return Error{Errc::kUsage, "--field needs NAME=VALUE, with a name of printable ASCII"};
    std::erase_if(fields.values, [&](const auto& other) { return other.first == name; });
    names.push_back(name);
  }
  for (const auto& [name, value] : fields.values)
    fields.shown += (fields.shown.empty() ? "" : ", ") + name + "=" + value;
  if (!names.empty())
    fields.shown += fmt::format("{}your {}", fields.shown.empty() ? "" : ", ", fmt::join(names, ", "));
  for (const std::string& field : arguments.fields)
    fields.values.emplace_back(field.substr(0, field.find('=')), field.substr(field.find('=') + 1));
  return fields;
}

std::vector<UploadFile> FilesOf(const SendArguments& arguments, const Parcel& parcel) {
  std::vector<UploadFile> files;
  if (arguments.minidump) files.push_back({"upload_file_minidump", parcel.minidump_name, parcel.minidump});
  if (arguments.with_report) files.push_back({"recrash_report", parcel.report_name, parcel.report});
  return files;
}

std::string Described(const std::string& server, const Upload& upload, const std::string& fields,
                      const Parcel& parcel) {
  std::vector<std::string> lines;
  for (const UploadFile& file : upload.files)
    lines.push_back(fmt::format("{}, {}, as {}", file.name, SizeText(file.bytes.size()), file.field));
  lines.push_back(fields);
  for (const std::string& line : ContentsOf(parcel, NameFor(parcel.crash.path))) lines.push_back(line);
  if (server.starts_with("http://")) lines.push_back("not encrypted: whoever is on the way can read it");
  return fmt::format("this goes to {}:\n{}", server, fmt::join(lines, "\n"));
}

Status AskUser(const SendArguments& arguments) {
  if (arguments.without_asking) return Ok{};
  if (!CanAsk())
    return Error{Errc::kUsage,
                 "nothing is sent unasked, and nobody can be asked here: there is no terminal\n"
                 "--yes sends it without asking"};
  if (Confirm("send it?")) return Ok{};
  return Error{Errc::kRefused, "nothing was sent"};
}

Result<Parcel> ParcelOf(const SendArguments& arguments) {
  if (!arguments.minidump && !arguments.with_report)
    return Error{Errc::kUsage, "--no-minidump and --no-report leave nothing to send"};
  Result<Parcel> parcel = MakeParcel(arguments.report, arguments.minidump);
  if (parcel && arguments.minidump && parcel->minidump.empty())
    return Error{Errc::kMissing, parcel->no_minidump +
                                     "\nservers of this protocol want one; --no-minidump sends the "
                                     "report alone, to one that takes that"};
  return parcel;
}

}  // namespace

int SendCommand(const SendArguments& arguments) {
  const Result<std::string> server = ServerOf(arguments.url);
  if (!server) return Fail(server.error());
  Result<Parcel> parcel = ParcelOf(arguments);
  if (!parcel) return Fail(parcel.error());
  const Result<Fields> fields = FieldsOf(arguments, *parcel);
  if (!fields) return Fail(fields.error());
  if (!arguments.with_report) parcel->report.clear();
  const Upload upload = {arguments.url, fields->values, FilesOf(arguments, *parcel), arguments.seconds,
                         arguments.ca_file};
  Note(Described(*server, upload, fields->shown, *parcel));
  if (const Status asked = AskUser(arguments); !asked) return Fail(asked.error());
  const Result<std::string> answer = Send(upload);
  if (!answer) return Fail(answer.error());
  Note("sent to " + *server);
  const std::string line = answer->substr(0, std::min(answer->find_first_of("\r\n"), kLongestAnswer));
  if (!line.empty()) fmt::print("{}\n", PrintableText(line));
  return kSuccess;
}

}  // namespace recrash::cli
