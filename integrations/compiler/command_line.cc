#include "integrations/compiler/command_line.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>

#include "agent/base/text.h"
#include "shadowstack/modes.h"

namespace recrash::compiler {
namespace {

template <size_t N>
bool Contains(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Options whose value is the next word, so that it is not taken for an input.
// clang-format off
constexpr std::array<std::string_view, 50> kTakesValue = {
    "-o", "-x", "-I", "-D", "-U", "-L", "-l", "-include", "-isystem", "-idirafter", "-iquote", "-imacros", "-iprefix",
    "-iwithprefix", "-isysroot", "-MF", "-MT", "-MQ", "-MJ", "-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor",
    "-Xanalyzer", "-mllvm", "-target", "--target", "-T", "-u", "-e", "-z", "-b", "-B", "-F", "-G", "-V", "--sysroot",
    "--param", "-framework", "-arch", "-aux-info", "-rpath", "-dumpbase", "-dumpdir", "-include-pch", "-fmodule-file",
    "-iframework", "-cxx-isystem", "-stdlib++-isystem", "--config"};
// clang-format on

// Nothing is linked and no machine code made.
constexpr std::array<std::string_view, 13> kStopsEarly = {
    "-E",        "-M",           "-MM",          "-fsyntax-only",     "--analyze",
    "-emit-ast", "--precompile", "--preprocess", "-module-file-info", "-rewrite-objc",
    "--migrate", "-extract-api", "-verify-pch"};

constexpr std::array<std::string_view, 16> kSourceSuffixes = {"c",   "cc",  "cp", "cpp", "cxx",  "c++", "C", "CC",
                                                              "CPP", "CXX", "i",  "ii",  "cppm", "ixx", "m", "mm"};
constexpr std::array<std::string_view, 8> kSourceLanguages = {
    "c", "c++", "cpp-output", "c++-cpp-output", "c++-module", "objective-c", "objective-c++", "c++20"};

constexpr std::array<std::string_view, 8> kNoProgram = {"-shared",   "--shared", "-r",          "--relocatable",
                                                        "-nostdlib", "-nolibc",  "-dynamiclib", "--emit-static-lib"};
constexpr std::array<std::string_view, 6> kNoProgramForLinker = {"-shared", "--shared", "-Bshareable",
                                                                 "-r",      "-i",       "--relocatable"};

constexpr std::array<std::string_view, 3> kShared = {"-shared", "--shared", "-Bshareable"};

constexpr std::array<std::string_view, 8> kHeaderSuffixes = {"h", "hh", "hp", "hpp", "hxx", "h++", "H", "HPP"};

enum class InputKind { kSource, kHeader, kOther };

InputKind Classify(std::string_view input, std::string_view language) {
  if (!language.empty() && language != "none") {
    if (Contains(kSourceLanguages, language)) return InputKind::kSource;
    return language.find("-header") != std::string_view::npos ? InputKind::kHeader : InputKind::kOther;
  }
  const size_t dot = input.rfind('.');
  const size_t slash = input.rfind('/');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)) return InputKind::kOther;
  const std::string_view suffix = input.substr(dot + 1);
  if (Contains(kSourceSuffixes, suffix)) return InputKind::kSource;
  return Contains(kHeaderSuffixes, suffix) ? InputKind::kHeader : InputKind::kOther;
}

bool TargetsX8664(std::string_view triple) {
  return triple.starts_with("x86_64") && triple.find("windows") == std::string_view::npos &&
         triple.find("apple") == std::string_view::npos && !triple.ends_with("x32");
}

// What is read from the words of the command line, response files included.
struct Scan {
  bool has_source = false;
  bool has_input = false;
  bool stops_early = false;
  bool makes_objects = false;  // -c or -S
  bool no_program = false;
  bool shared = false;
  bool is_plugin = false;  // -recrash-plugin
  bool supported_target = true;
  bool enabled = true;  // no -fno-recrash
  bool help = false;
  bool precompiles_header = false;
  std::string_view output;          // of -o
  bool lto = false;                 // -flto of any kind
  bool fat_objects = false;         // machine code beside the bitcode: no link step may come
  bool records_at_compile = false;  // -recrash-lto=compile
  std::string_view linker;          // of -fuse-ld= or --ld-path=; empty: none is named
  bool drops_sections = false;      // --gc-sections

  // What recrash does in this invocation.
  bool active() const { return enabled && supported_target; }
  bool instruments() const { return active() && has_source && !stops_early; }
  bool reaches_link() const { return active() && has_input && !stops_early && !makes_objects; }
  bool links() const { return reaches_link() && !precompiles_header; }  // shared libraries, too
  bool links_plugin() const { return links() && shared && is_plugin; }
  bool links_program() const { return reaches_link() && !no_program; }
  bool uses_client() const { return links_program() || links_plugin(); }
};

void ReadLinkerWord(std::string_view word, Scan& scan) {
  if (Contains(kNoProgramForLinker, word)) scan.no_program = true;
  if (Contains(kShared, word)) scan.shared = true;
  if (word == "--gc-sections") scan.drops_sections = true;
}

void ReadLinkerWords(std::string_view words, Scan& scan) {  // of -Wl,a,b
  while (!words.empty()) {
    const size_t comma = words.find(',');
    ReadLinkerWord(words.substr(0, comma), scan);
    if (comma == std::string_view::npos) break;
    words.remove_prefix(comma + 1);
  }
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) : words_(words) {}

  Scan Read() {
    while (!AtEnd()) {
      const std::string_view word = Next();
      if (only_inputs_ || word == "-" || !word.starts_with("-"))
        AddInput(word);
      else if (!ReadWithValue(word) && !ReadJoined(word))
        ReadFlag(word);
    }
    return scan_;
  }

 private:
  bool AtEnd() const { return at_ == words_.size(); }
  std::string_view Next() { return words_[at_++]; }

  void AddInput(std::string_view input) {
    scan_.has_input = true;
    const InputKind kind = Classify(input, language_);
    if (kind == InputKind::kSource) scan_.has_source = true;
    if (kind == InputKind::kHeader) scan_.no_program = scan_.precompiles_header = true;
  }

  // An option whose value is the next word.
  bool ReadWithValue(std::string_view word) {
    if (!Contains(kTakesValue, word)) return false;
    if (AtEnd()) return true;
    const std::string_view value = Next();
    if (word == "-x") language_ = value;
    if (word == "-target" || word == "--target") scan_.supported_target = TargetsX8664(value);
    if (word == "-o") scan_.output = value;
    if (word == "-Xlinker") ReadLinkerWord(value, scan_);
    return true;
  }

  // An option whose value stands in the same word.
  bool ReadJoined(std::string_view word) {
    const std::string_view value = word.substr(std::min(word.find('='), word.size() - 1) + 1);
    if (word.starts_with("-x"))
      language_ = word.substr(2);
    else if (word.starts_with("--target="))
      scan_.supported_target = TargetsX8664(value);
    else if (word.starts_with("-Wl,"))
      ReadLinkerWords(word.substr(4), scan_);
    else if (word.starts_with("-l"))
      scan_.has_input = true;
    else if (word.starts_with("-flto="))
      scan_.lto = true;
    else if (word.starts_with("-fuse-ld=") || word.starts_with("--ld-path="))
      scan_.linker = value;
    else if (word.starts_with("-recrash-lto="))
      scan_.records_at_compile = value == "compile";
    else
      return false;
    return true;
  }

  void ReadFlag(std::string_view word) {
    if (word == "--") only_inputs_ = true;
    if (word == "-m32" || word == "-mx32" || word == "-m64") scan_.supported_target = word == "-m64";
    if (word == "-c" || word == "-S") scan_.makes_objects = true;
    if (Contains(kStopsEarly, word)) scan_.stops_early = true;
    if (Contains(kNoProgram, word)) scan_.no_program = true;
    if (Contains(kShared, word)) scan_.shared = true;
    if (word == "-recrash-plugin") scan_.is_plugin = true;
    if (word == "-frecrash" || word == "-fno-recrash") scan_.enabled = word == "-frecrash";
    if (word == "--recrash-help") scan_.help = true;
    if (word == "-flto" || word == "-fno-lto") scan_.lto = word == "-flto";
    if (word == "-ffat-lto-objects" || word == "-fno-fat-lto-objects") scan_.fat_objects = word == "-ffat-lto-objects";
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  std::string_view language_;  // of -x
  bool only_inputs_ = false;   // behind --
  Scan scan_;
};

bool IsRecrashWord(std::string_view word) {
  return word == "-frecrash" || word == "-fno-recrash" || word == "--recrash-help" || word.starts_with("-recrash-");
}

// A word that is the value of the one before it is not an option: `-mllvm -recrash-mode=full` goes to clang as it is.
bool IsRecrashOption(const std::vector<std::string>& words, size_t i) {
  return IsRecrashWord(words[i]) && (i == 0 || !Contains(kTakesValue, words[i - 1]));
}

size_t CountRecrashOptions(const std::vector<std::string>& words) {
  size_t count = 0;
  for (size_t i = 0; i < words.size(); ++i) count += IsRecrashOption(words, i);
  return count;
}

constexpr std::string_view kEmbedCollector = "-recrash-embed-collector";

// "" when the option is one of ours and right.
std::string Complaint(std::string_view word) {
  if (!word.starts_with("-recrash-") || word == "-recrash-std" || word == "-recrash-report" ||
      word == "-recrash-plugin" || word == kEmbedCollector)
    return "";
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (name == "-recrash-version") {
    if (equals == std::string_view::npos) return "-recrash-version needs a value: -recrash-version=TEXT";
    return "";
  }
  if (name == "-recrash-mode") {
    if (abi::ModeNamed(value) != nullptr) return "";
    std::string known;
    for (const abi::ModeTraits& mode : abi::kModes) known += (known.empty() ? "" : ", ") + std::string(mode.name);
    return std::string(word) + ": the modes are " + known;
  }
  if (name == "-recrash-depth") {
    if (value == "0" || value == "1" || value == "2") return "";
    return std::string(word) + ": the depth is 0, 1 or 2";
  }
  if (name == "-recrash-lto")
    return value == "link" || value == "compile" ? "" : std::string(word) + ": records are made at link or at compile";
  if (name == "-recrash-list") return value.empty() ? "-recrash-list needs a file: -recrash-list=FILE" : "";
  if (name == "-recrash-report")
    return value.empty() ? "-recrash-report= needs a file, a folder or -; without = it lies beside the object" : "";
  return std::string(word) + ": no such option; see --recrash-help";
}

// Where -recrash-report alone goes: beside the object that -o names, else into the folder of the output, where the pass
// names it after the source.
std::string ReportBeside(const Scan& scan) {
  if (scan.makes_objects && !scan.output.empty() && scan.output != "-")
    return std::string(scan.output) + ".recrash.txt";
  const size_t slash = scan.output.rfind('/');
  return slash == std::string_view::npos ? "./" : std::string(scan.output.substr(0, slash + 1));
}

// Under -flto the link step makes the records; not those of objects that hold machine code as well, which may never see
// one.
bool DefersRecords(const Scan& scan) { return scan.lto && !scan.fat_objects && !scan.records_at_compile; }

// The link step that makes the records of an LTO build is lld's; no other linker loads a pass.
bool IsNamed(std::string_view linker, std::string_view name) {
  return BaseName(linker).find(name) != std::string_view::npos;
}

bool IsLld(std::string_view linker) { return IsNamed(linker, "lld"); }

std::string LinkerComplaint(const Scan& scan) {
  if (IsNamed(scan.linker, "gold") && scan.drops_sections)
    return "--gc-sections with gold: it cannot drop recrash's map of a function together with the function; give "
           "-fuse-ld=lld or -fuse-ld=bfd, or link without --gc-sections";
  if (!DefersRecords(scan) || scan.linker.empty() || IsLld(scan.linker)) return "";
  return "-flto with " + std::string(scan.linker) +
         ": under link-time optimisation records are made in the link step, by lld; give -fuse-ld=lld, or "
         "-recrash-lto=compile wherever -flto stands";
}

bool LoadsPassAtLink(const Scan& scan) {
  if (!scan.links()) return false;
  // Where only the linker is named as well: lld takes bitcode without -flto.
  return scan.linker.empty() ? DefersRecords(scan) : IsLld(scan.linker) && !scan.records_at_compile;
}

void Append(std::initializer_list<std::string> words, std::vector<std::string>& out) { out.insert(out.end(), words); }

// One of our options, checked, as clang takes it.
void AddForPass(const std::string& option, const Scan& scan, std::vector<std::string>& out) {
  constexpr std::string_view kList = "-recrash-list=";
  // What follows from these is known already.
  if (option.starts_with("-recrash-lto=") || option == "-recrash-plugin" || option == kEmbedCollector) return;
  // In the dependency file as a header would be, so that a changed list means new objects.
  if (option.starts_with(kList)) Append({"-Xclang", "-fdepfile-entry=" + option.substr(kList.size())}, out);
  Append({"-mllvm", option == "-recrash-report" ? option + "=" + ReportBeside(scan) : option}, out);
}

bool LinksRuntimeStatically(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "-static" || word == "-static-pie" || word == "-static-libstdc++";
  });
}

// clang's own inner invocations, and those of tools that imitate it.
bool IsInnerInvocation(const std::vector<std::string>& arguments) {
  return !arguments.empty() &&
         (arguments[0] == "-cc1" || arguments[0] == "-cc1as" || arguments[0] == "-cc1gen-reproducer");
}

std::string FirstComplaint(const std::vector<std::string>& words, const Scan& scan) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsRecrashOption(words, i)) continue;
    if (const std::string complaint = Complaint(words[i]); !complaint.empty()) return complaint;
  }
  return scan.links() ? LinkerComplaint(scan) : "";
}

void AddPass(const std::vector<std::string>& words, const Scan& scan, const Paths& paths,
             std::vector<std::string>& out) {
  // -fplugin loads it while the command line is read, so that -mllvm knows its options; -fpass-plugin runs it.
  Append({"-fplugin=" + paths.plugin, "-fpass-plugin=" + paths.plugin}, out);
  for (size_t i = 0; i < words.size(); ++i)
    if (IsRecrashOption(words, i) && words[i].starts_with("-recrash-")) AddForPass(words[i], scan, out);
  if (DefersRecords(scan)) Append({"-mllvm", "-recrash-lto=link"}, out);
}

// With what recrash.h calls: of a program the linker exports only what libraries refer to that are linked with it, and
// libraries that it opens later would find nothing.
constexpr const char* kAnchor = "-Wl,-u,__recrash_client_anchor";
constexpr const char* kLinkClient =
    "-Wl,-u,__recrash_client_anchor"
    ",--export-dynamic-symbol=__recrash_report"
    ",--export-dynamic-symbol=__recrash_profiles"
    ",--export-dynamic-symbol=__recrash_keep_memory"
    ",--export-dynamic-symbol=__recrash_mark"
    ",--export-dynamic-symbol=__recrash_unmark"
    ",--export-dynamic-symbol=__recrash_alive"
    ",--export-dynamic-symbol=__recrash_note"
    ",--export-dynamic-symbol=__recrash_file"
    ",--export-dynamic-symbol=__recrash_before_report";

// Behind everything else: its hooks then come before the C++ runtime but after the program. Through -Xlinker, since
// under -x c clang would take the archive for C.
//
// In a plug-in the hooks are its own alone. And it stays loaded: handlers that are installed cannot be taken back from
// under those that came later.
void AddClient(const std::vector<std::string>& words, const Scan& scan, const Paths& paths,
               std::vector<std::string>& out) {
  std::vector<std::string> link = {scan.links_plugin() ? kAnchor : kLinkClient, "-Xlinker", paths.client, "-lpthread",
                                   "-ldl"};
  // Where the C or C++ runtime is an archive, nothing can be looked up behind the hooks: they wrap it at link time.
  if (LinksRuntimeStatically(words)) link = {"@" + paths.static_options, "-Xlinker", paths.static_client};
  if (std::ranges::find(words, kEmbedCollector) != words.end())
    link.insert(link.end(), {"-Xlinker", paths.embedded_collector});
  if (scan.links_plugin())
    Append(
        {"-Wl,--exclude-libs," + std::string(BaseName(paths.client)) + ":" + std::string(BaseName(paths.static_client)),
         "-Wl,-z,nodelete"},
        link);
  out.insert(std::find(out.begin(), out.end(), "--"), link.begin(), link.end());
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Response files, one inside another at most ten deep. One that cannot be read stays a word: clang takes it for a file.
void Expand(const std::vector<std::string>& words, int depth, std::vector<std::string>& out) {
  for (const std::string& word : words) {
    std::optional<std::string> text;
    if (depth > 0 && word.size() > 1 && word[0] == '@') text = ReadFile(word.substr(1));
    if (text)
      Expand(SplitResponseFile(*text), depth - 1, out);
    else
      out.push_back(word);
  }
}

}  // namespace

std::vector<std::string> SplitResponseFile(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word.push_back(text[++i]);
      in_word = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word.push_back(c);
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word.push_back(c);
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

Result<CommandLine> Rewrite(const std::vector<std::string>& arguments, const Paths& paths) {
  CommandLine result;
  if (IsInnerInvocation(arguments)) {
    result.arguments = arguments;
    return result;
  }
  std::vector<std::string> words;
  Expand(arguments, 10, words);
  const Scan scan = Reader(words).Read();
  const bool loads_at_link = LoadsPassAtLink(scan);
  result.help = scan.help;
  result.uses_plugin = scan.instruments() || loads_at_link;
  result.uses_client = scan.uses_client();
  if (scan.links_program()) result.program = scan.output.empty() ? "a.out" : scan.output;
  if (const std::string complaint = FirstComplaint(words, scan); !complaint.empty())
    return Error{Errc::kUsage, complaint};

  std::vector<std::string>& out = result.arguments;
  if (scan.instruments()) AddPass(words, scan, paths, out);
  if (loads_at_link) {
    if (scan.linker.empty()) out.push_back("-fuse-ld=lld");
    Append({"-Xlinker", "--load-pass-plugin=" + paths.plugin}, out);
  }
  // Searched last: it adds recrash/recrash.h and hides nothing.
  if (scan.active() && scan.has_source && !paths.include.empty()) Append({"-idirafter", paths.include}, out);
  // Our options come from the expanded words; a response file that holds any is handed on expanded.
  const bool expanded = CountRecrashOptions(words) != CountRecrashOptions(arguments);
  const std::vector<std::string>& kept = expanded ? words : arguments;
  for (size_t i = 0; i < kept.size(); ++i)
    if (!IsRecrashOption(kept, i)) out.push_back(kept[i]);
  if (scan.uses_client()) AddClient(words, scan, paths, out);
  return result;
}

}  // namespace recrash::compiler
