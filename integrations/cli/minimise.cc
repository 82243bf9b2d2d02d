// recrash minimise: which words of memory make a call fail.
#include "testgen/minimise/minimise.h"

#include <fmt/format.h>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/terminal.h"
#include "integrations/cli/tests.h"

namespace recrash::cli {
namespace {

std::string Number(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string Counted(uint64_t number, const char* thing) {
  return fmt::format("{} {}{}", Number(number), thing, number == 1 ? "" : "s");
}

std::string Headline(const Minimised& minimised) {
  std::string fills = fmt::format("{} of {} other fills agree", minimised.agreeing_fills, minimised.fills);
  return fmt::format("what matters: {} in {} of {} parts of memory (minimised in {:.1f} s; {})",
                     Counted(minimised.items.size(), "word"), Number(minimised.parts), Number(minimised.given_parts),
                     minimised.seconds, fills);
}

constexpr size_t kMostLines = 40;

const char* RoleText(Role role) {
  constexpr const char* kTexts[] = {"not tried", "context", "culprit"};
  return kTexts[static_cast<size_t>(role)];
}

void Print(const Minimised& minimised) {
  fmt::print("frame {}: {}\n{}\n", minimised.frame, PrintableText(minimised.function), Headline(minimised));
  size_t lines = 0;
  for (const WhatMatters& item : minimised.items) {
    const bool is_culprit = item.role == Role::kCulprit;
    if (++lines > kMostLines && !is_culprit) continue;
    fmt::print("    {} = {}   {}\n", PrintableText(item.path), PrintableText(item.value),
               is_culprit ? Coloured(Colour::kBad, "culprit: returns with " + item.returns_with)
                          : Coloured(Colour::kDim, RoleText(item.role)));
  }
  if (lines > kMostLines)
    fmt::print("    context that is not shown here: --json has all of the {} words\n", Number(minimised.items.size()));
  if (!minimised.limits.empty()) Note(minimised.limits);
  for (const std::string& note : minimised.notes) Note(note);
}

nlohmann::ordered_json JsonOf(const Minimised& minimised) {
  nlohmann::ordered_json json = {{"frame", minimised.frame},
                                 {"function", minimised.function},
                                 {"words", minimised.items.size()},
                                 {"bytes", minimised.bytes},
                                 {"parts", minimised.parts},
                                 {"touched_parts", minimised.touched_parts},
                                 {"given_parts", minimised.given_parts},
                                 {"fixed_bytes", minimised.fixed_bytes},
                                 {"fills", minimised.fills},
                                 {"agreeing_fills", minimised.agreeing_fills},
                                 {"trials", minimised.trials},
                                 {"seconds", minimised.seconds},
                                 {"limits", minimised.limits},
                                 {"notes", minimised.notes},
                                 {"items", nlohmann::ordered_json::array()}};
  for (const WhatMatters& item : minimised.items)
    json["items"].push_back({{"path", item.path},
                             {"value", item.value},
                             {"role", RoleText(item.role)},
                             {"returns_with", item.returns_with},
                             {"kind", PartText(item.kind)},
                             {"address", fmt::format("{:#x}", item.address.value)},
                             {"mask", item.mask},
                             {"bytes", Hex(item.bytes)},
                             {"part_start", fmt::format("{:#x}", item.part_start)},
                             {"part_size", item.part_size}});
  return json;
}

}  // namespace

int MinimiseCommand(const MinimiseArguments& arguments) {
  const Result<Suite> suite = FramesOf(arguments.target, arguments.request);
  if (!suite) return Fail(suite.error());
  MinimiseOptions options;
  options.verify = ReplaysOf(*suite);
  options.seconds = arguments.seconds;
  options.seed = arguments.seed;
  const uint32_t frame = arguments.frame < 0 ? FrameToMinimise(suite->report) : static_cast<uint32_t>(arguments.frame);
  const Result<Minimised> minimised = Minimise(suite->report, frame, options);
  if (!minimised) return Fail(minimised.error());
  if (arguments.json != "-") Print(*minimised);
  const Status written = WriteJson(JsonOf(*minimised), arguments.json);
  return written ? kSuccess : Fail(written.error());
}

}  // namespace recrash::cli
