#include "integrations/pages/why_sarif.h"

#include <ranges>
#include <string_view>

#include "agent/base/printable_text.h"

namespace recrash::pages {
namespace fs = std::filesystem;
using nlohmann::ordered_json;
namespace {

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";
constexpr const char* kRule = "recrash/failure";

// "[text](target)" would be a link.
ordered_json Message(std::string_view text) {
  const std::string shown = PrintableText(text);
  const bool has_link = shown.find("](") != shown.npos;
  std::string plain;
  for (const char c : shown) {
    if (has_link && (c == '[' || c == ']' || c == '\\')) plain += '\\';
    plain += c;
  }
  return {{"text", plain}};
}

// What a URI has to name otherwise is written as %XX.
std::string UriPath(const std::string& path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != kPlain.npos)
      uri += c;
    else
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri;
}

std::string UriOf(const std::string& file, const fs::path& root) {
  const fs::path path = fs::path(file).lexically_normal();
  if (!path.is_absolute()) return UriPath(path);
  const std::string below = path.lexically_relative(root);
  const bool is_below = !root.empty() && !below.empty() && below != "." && below != ".." && !below.starts_with("../");
  if (is_below) return UriPath(below);
  return "file:///" + UriPath(path.relative_path());
}

ordered_json Location(const explain::Link& link, const fs::path& root) {
  ordered_json location = ordered_json::object();
  if (link.line != 0 && !link.file.empty()) {
    ordered_json region = {{"startLine", link.line}};
    if (!link.source.empty()) region["snippet"] = {{"text", PrintableText(link.source)}};
    location["physicalLocation"] = {{"artifactLocation", {{"uri", UriOf(link.file, root)}}}, {"region", region}};
  }
  if (!link.function.empty())
    location["logicalLocations"] =
        ordered_json::array({{{"fullyQualifiedName", PrintableText(link.function)}, {"kind", "function"}}});
  return location;
}

ordered_json FlowLocation(const explain::Link& link, const fs::path& root) {
  ordered_json location = Location(link, root);
  location["message"] = Message((link.function.empty() ? "" : link.function + ": ") + explain::ClauseOf(link));
  return {{"location", location},
          {"nestingLevel", link.depth},
          {"importance", link.depth == 0 ? "essential" : "important"},
          {"kinds", {explain::LinkText(link.kind)}}};
}

ordered_json Rule() {
  return {{"id", kRule},
          {"name", "Failure"},
          {"shortDescription", {{"text", "A failure, and where its bad value came from"}}},
          {"fullDescription",
           {{"text",
             "The program failed there. The steps lead from where the value was made that caused it to the failure. "
             "Each of them was seen in a replay of the failure."}}},
          {"help", {{"text", "The last step is the failure. Read backwards from it."}}},
          {"defaultConfiguration", {{"level", "error"}}}};
}

// As readers of SARIF expect it: the failure is the last step.
ordered_json CodeFlow(const explain::Explanation& explanation, const fs::path& root) {
  ordered_json locations = ordered_json::array();
  for (const explain::Link& link : std::views::reverse(explanation.links))
    locations.push_back(FlowLocation(link, root));
  return {{"message", {{"text", "from where the value was made to the failure"}}},
          {"threadFlows", ordered_json::array({{{"locations", locations}}})}};
}

}  // namespace

ordered_json WhySarif(const explain::Explanation& explanation, const fs::path& root) {
  ordered_json result = {{"ruleId", kRule},
                         {"ruleIndex", 0},
                         {"level", "error"},
                         {"message", Message(explanation.failure)},
                         {"locations", ordered_json::array()}};
  for (const explain::Link& link : explanation.links) {
    if (link.line == 0 || link.file.empty()) continue;
    result["locations"].push_back(Location(link, root));
    break;
  }
  if (!explanation.links.empty()) result["codeFlows"] = ordered_json::array({CodeFlow(explanation, root)});
  const ordered_json driver = {
      {"name", "recrash"}, {"version", RECRASH_VERSION}, {"rules", ordered_json::array({Rule()})}};
  const ordered_json run = {
      {"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", ordered_json::array({result})}};
  return {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", ordered_json::array({run})}};
}

std::string SarifText(const ordered_json& sarif) {
  return sarif.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace recrash::pages
