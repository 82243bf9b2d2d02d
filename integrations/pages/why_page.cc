#include "integrations/pages/why_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/base/text.h"
#include "integrations/pages/markup.h"
#include "integrations/pages/page_style.h"
#include "integrations/pages/value_graph.h"

namespace recrash::pages {
namespace {

using explain::Link;

// In characters; the program's own names and lines are shorter, nearly always.
constexpr size_t kLongestName = 300;
constexpr size_t kLongestText = 1000;
constexpr size_t kLongestLine = 300;
constexpr size_t kMostIndented = 4;
// In bytes.
constexpr size_t kLongestCommand = 16 << 10;
constexpr size_t kLargestList = 256 << 10;
constexpr size_t kReserve = 4 << 10;

std::string Name(const std::string& text) { return Escaped(Shortened(text, kLongestName)); }

std::string PlaceOf(const Link& link) {
  return link.line == 0 ? "" : BaseName(link.file) + ":" + std::to_string(link.line);
}

std::string Row(uint64_t number, const std::string& line, const Link& link) {
  const bool is_here = number == link.line;
  const std::string value =
      is_here && !link.value.empty()
          ? "<span class=\"value\"><code>" + Escaped(Shortened(link.value, kLongestName)) + "</code></span>"
          : "";
  return fmt::format("<div class=\"row{}\"><span class=\"number\">{}{}</span><code>{}</code>{}</div>\n",
                     is_here ? " here" : "", is_here ? "▸ " : "", number, Escaped(Shortened(line, kLongestLine)),
                     value);
}

// Without the indentation that all of the lines have.
std::vector<std::string> LinesOf(const Link& link) {
  std::vector<std::string> lines;
  size_t indentation = std::string::npos;
  for (const std::string& line : link.around.lines) {
    lines.push_back(WithoutTabs(line));
    indentation = std::min(indentation, lines.back().find_first_not_of(' '));
  }
  for (std::string& line : lines) line.erase(0, std::min(indentation, line.size()));
  return lines;
}

std::string SourceAround(const Link& link) {
  if (link.line == 0) return "";
  std::string rows;
  uint64_t number = link.around.first;
  for (const std::string& line : LinesOf(link)) rows += Row(number++, line, link);
  if (rows.empty() && !link.source.empty()) rows = Row(link.line, WithoutTabs(link.source), link);
  if (rows.empty()) return "<p class=\"dim\">The source is not there.</p>\n";
  return "<div class=\"source\">\n" + rows + "</div>\n";
}

std::string Step(const Link& link, size_t number, bool with_source) {
  const bool is_undone = link.undone.value_or(false);
  std::string about;
  if (link.line != 0)
    about += "<code class=\"dim\" title=\"" + Name(link.file) + "\">" + Name(PlaceOf(link)) + "</code>\n";
  if (is_undone) about += "<span class=\"badge undone\">undone, the failure goes</span>\n";
  const std::string function = link.function.empty() ? "" : "<strong>" + Name(link.function) + "</strong>: ";
  return fmt::format(
      "<li id=\"s{}\" class=\"{} d{}\" tabindex=\"-1\">\n<div class=\"about\">\n<h3>{}. {}{}</h3>\n{}</div>\n{}</li>\n",
      number, explain::LinkText(link.kind), std::min<size_t>(link.depth, kMostIndented), number, function,
      Escaped(Shortened(link.text, kLongestText)), about,
      with_source ? SourceAround(link) : "<p class=\"dim\">The source finds no room on this page.</p>\n");
}

// In so many bytes.
std::string Steps(const std::vector<Link>& links, size_t room) {
  std::string steps = "<ol id=\"steps\">\n";
  size_t told = 0;
  for (; told < links.size(); ++told) {
    std::string step = Step(links[told], told + 1, true);
    if (steps.size() + step.size() > room) step = Step(links[told], told + 1, false);
    if (steps.size() + step.size() > room) break;
    steps += step;
  }
  steps += "</ol>\n";
  if (links.empty()) steps += "<p>No step is known.</p>\n";
  if (told < links.size())
    steps += fmt::format(
        "<p class=\"note\">{} more steps find no room on this page: <code>recrash why --json</code> has "
        "them.</p>\n",
        links.size() - told);
  return steps;
}

class Commands {
 public:
  // With a button that copies it, where scripts run.
  std::string Copied(const std::string& what, const std::string& line) {
    if (line.size() > kLongestCommand) return "<p class=\"dim\">The command is too long for this page.</p>\n";
    const int number = ++count_;
    return fmt::format(
        "<div class=\"copy\"><code id=\"c{0}\">{1}</code><button type=\"button\" hidden=\"hidden\" "
        "data-copies=\"c{0}\" "
        "aria-label=\"copy the command: {2}\">copy</button></div>\n",
        number, Escaped(line), Name(what));
  }

 private:
  int count_ = 0;
};

std::string Stack(const std::vector<StackRow>& rows, Commands* commands) {
  if (rows.empty()) return "";
  std::string list =
      "<section aria-labelledby=\"h-stack\">\n<h2 id=\"h-stack\">Frames and their tests</h2>\n"
      "<ul class=\"list\">\n";
  size_t told = 0;
  for (; told < rows.size() && list.size() < kLargestList; ++told) {
    const StackRow& row = rows[told];
    list += fmt::format("<li><span class=\"dim\">#{}</span> <strong>{}</strong> <code class=\"dim\">{}</code>{}\n",
                        row.index, Name(row.function), Name(row.place),
                        row.verdict.empty() ? "" : " <span class=\"badge\">" + Name(row.verdict) + "</span>");
    if (!row.command.empty()) list += commands->Copied("frame " + std::to_string(row.index), row.command);
    list += "</li>\n";
  }
  list += "</ul>\n";
  if (told < rows.size())
    list += fmt::format("<p class=\"note\">{} more frames find no room here.</p>\n", rows.size() - told);
  return list + "</section>\n";
}

std::string CommandList(const std::vector<Command>& list, Commands* commands) {
  if (list.empty()) return "";
  std::string text =
      "<section aria-labelledby=\"h-commands\">\n<h2 id=\"h-commands\">Commands</h2>\n<ul class=\"list\">\n";
  size_t told = 0;
  for (; told < list.size() && text.size() < kLargestList; ++told) {
    const Command& command = list[told];
    text += "<li>" + Name(command.what) + "\n" + commands->Copied(command.what, command.line) + "</li>\n";
  }
  text += "</ul>\n";
  if (told < list.size())
    text += fmt::format("<p class=\"note\">{} more commands find no room here.</p>\n", list.size() - told);
  return text + "</section>\n";
}

std::string Header(const explain::Explanation& explanation) {
  std::string text = "<header>\n<h1>" + Escaped(Shortened(explanation.failure, kLongestText)) + "</h1>\n<p>It was " +
                     Escaped(Shortened(explain::ReplayedText(explanation), kLongestText)) +
                     ". Each step is what a replay did.</p>\n";
  if (explain::IsCutOff(explanation))
    text +=
        "<p class=\"note\">What came before is not known: <code>recrash why --rerun</code> runs the program again, and "
        "looks from its beginning.</p>\n";
  return text +
         "<p id=\"keys\" class=\"dim\" hidden=\"hidden\"><kbd>j</kbd> or <kbd>→</kbd>: next step. <kbd>k</kbd> or "
         "<kbd>←</kbd>: the one before.</p>\n</header>\n";
}

}  // namespace

std::string WhyPage(const explain::Explanation& explanation, const WhyContext& context) {
  Commands commands;
  const std::string graph = ValueGraph(explanation);
  std::string begin = "<!DOCTYPE html>\n<html lang=\"en\">\n" +
                      PageHead("recrash why: " + Shortened(explanation.failure, kLongestName)) + "<body>\n" +
                      Header(explanation) + "<main>\n<div" + (graph.empty() ? "" : " class=\"beside\"") +
                      ">\n<section aria-labelledby=\"h-steps\">\n<h2 id=\"h-steps\">From the failure back</h2>\n"
                      "<p class=\"dim\">Indented: what led to a condition, or to the second part of a sum.</p>\n";
  std::string end = "</section>\n";
  if (!graph.empty())
    end +=
        "<section class=\"graph\" aria-labelledby=\"h-graph\">\n<h2 id=\"h-graph\">The way of the value</h2>\n"
        "<p class=\"dim\">From the bottom up, to the failure.</p>\n" +
        graph + "</section>\n";
  end += "</div>\n" + Stack(context.stack, &commands) + CommandList(context.commands, &commands) +
         "</main>\n<p id=\"said\" class=\"dim\" role=\"status\"></p>\n<script>" + kPageScript +
         "</script>\n</body>\n</html>\n";
  const size_t rest = begin.size() + end.size() + kReserve;
  return begin + Steps(explanation.links, rest < kLargestPage ? kLargestPage - rest : 0) + end;
}

}  // namespace recrash::pages
