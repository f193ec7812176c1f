#include "cli/ui/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "cli/output/html.hpp"
#include "cli/output/outputs.hpp"
#include "cli/output/streams.hpp"
#include "cli/program.hpp"
#include "models/io/imports/ib_network.hpp"
#include "models/io/imports/import_file.hpp"
#include "models/io/topologies/load.hpp"
#include "sim/base/error.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

constexpr std::array kStudies = {"bench", "decide", "cutover", "whatif", "advise", "step",
                                 "plan",  "judge",  "check",   "lint",   "topo",   "upgrade",
                                 "serve", "hang",   "memory",  "experts"};
/// Options that print in place of answering, run the code of a file, or say how many threads.
constexpr std::array kNotHere = {"format", "help",  "list-models",  "list-rules", "list-variables",
                                 "table",  "tuner", "explain-fold", "releases",   "jobs"};
constexpr std::size_t kFilesMax = 16;

template <class List>
bool has(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

Error not_here(const std::string& option) {
  return Error(about("--" + option),
               fmt::format("\"{}\" cannot be asked here", option.substr(0, 60)));
}

/// A text of the body, by its key.
std::string text_of(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw Error(option_place("--" + key), "is a text, a number, true or a list of texts");
}

/// However they were asked for. A part of a list that is no number is the command's to refuse.
void check_nodes(const CLI::App& command) {
  const CLI::Option* const option = command.get_option_no_throw("--nodes");
  if (option == nullptr) return;
  for (const std::string& text : option->results()) {
    long long number = 0;
    for (const char c : text) {
      number = '0' <= c && c <= '9' ? std::min(10 * number + (c - '0'), 1'000'000LL) : 0;
      if (number > kPageNodesMax)
        throw Error(option_place("--nodes"), fmt::format("at most {} on this page", kPageNodesMax),
                    "the command line takes more");
    }
  }
}

/// The page is all that is written, and it is small.
void check_options(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && names_output(*option)) throw not_here(option->get_lnames().front());
  check_nodes(command);
}

/// Files of the body, written into the folder.
class Files {
 public:
  Files(const Json& body, const OwnFolder& folder) : folder_(folder) {
    const auto files = body.find("files");
    if (files == body.end()) return;
    if (!files->is_object()) throw Error("files: an object of names and texts");
    if (files->size() > kFilesMax) throw Error(fmt::format("files: at most {}", kFilesMax));
    for (const auto& [name, text] : files->items()) {
      if (!is_file_name(name) || !text.is_string())
        throw Error(fmt::format("files: \"{}\" is no name of a file and its text", name),
                    "letters, digits, dots, blanks, hyphens and underscores");
      folder_.write(name, text.get_ref<const std::string&>());
      names_.push_back(name);
    }
  }

  /// A dropped file's path, for what names one; else the text as it is.
  std::string named(const std::string& text) const { return has(names_, text) ? path(text) : text; }
  /// A part without the folder in which they are, wherever its report names one.
  Json shown(const PagePart& part) const {
    const std::string line = json_line(part_json(part));
    return Json::parse(names_.empty() ? line : shown(line));
  }
  std::string shown(std::string text) const {
    const std::string prefix = folder_.path() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
      text.erase(at, prefix.size());
    return text;
  }

 private:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  const OwnFolder& folder_;
  std::vector<std::string> names_;
};

void add_option(const std::string& key, const Json& value, const Files& files,
                std::vector<std::string>& words) {
  const bool is_name = !key.empty() && std::ranges::all_of(key, [](char c) {
    return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '-';
  });
  if (!is_name || has(kNotHere, key)) throw not_here(key);
  if (value.is_boolean()) {
    if (value.get<bool>()) words.push_back("--" + key);
    return;
  }
  if (value.is_array()) {
    for (const Json& one : value)
      words.push_back(fmt::format("--{}={}", key, files.named(text_of(key, one))));
    return;
  }
  const std::string text = text_of(key, value);
  words.push_back(fmt::format("--{}={}", key, files.named(text)));
}

std::vector<std::string> words_of(const std::string& study, const Json& body, const Files& files) {
  std::vector<std::string> words = {study};
  const char* const positional = study == "topo" && !body.contains("input") ? "topology" : "input";
  for (const auto& [key, value] : body.items()) {
    if (key == "files") continue;
    if (key == positional) continue;
    add_option(key, value, files, words);
  }
  if (body.contains(positional)) {
    const Json& asked = body[positional];
    words.emplace_back("--");
    for (const Json& one : asked.is_array() ? asked : Json::array({asked}))
      words.push_back(files.named(text_of(positional, one)));
  }
  return words;
}

/// As it is, but without the folder of the question's own files.
Error shown(const Error& error, const Files& files) {
  Place place = error.place();
  place.file = files.shown(place.file);
  return {std::move(place), files.shown(error.message()), files.shown(error.hint())};
}

}  // namespace

bool is_file_name(const std::string& name) {
  const bool known = std::ranges::all_of(name, [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ' ';
  });
  return known && !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-';
}

Json error_json(const Error& error) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const Place& place = error.place();
  return {{"error",
           {{"message", error.reason()},
            {"option", or_null(place.about)},
            {"file", or_null(place.file)},
            {"line", place.line > 0 ? Json(place.line) : Json()},
            {"hint", or_null(error.hint())}}}};
}

Answered answer(const std::string& study, const Json& body, const OwnFolder& folder, int threads,
                const Listener& listener) {
  Answered out;
  std::optional<Files> files;
  try {
    if (!has(kStudies, study))
      throw Error(fmt::format("\"{}\" is no study", study.substr(0, 60)),
                  fmt::format("studies: {}", fmt::join(kStudies, " ")));
    if (!body.is_object()) throw Error("a question is a JSON object");
    files.emplace(body, folder);
    // What a command prints beside its report is for a terminal.
    const StreamListener unheard([](std::string_view) {}, [](std::string_view) {});
    const std::vector<std::string> words = words_of(study, body, *files);
    const auto shown = [&](PagePart part) {
      if (part.command.empty()) part.command = typed_command(words);
      return files->shown(part);
    };
    Answers answers;
    answers.prints = false;
    answers.jobs = threads;
    answers.poll = listener.poll;
    answers.also = [&](const PagePart& part) { out.part = shown(part); };
    answers.progress = listener.progress ? listener.progress : [](double) {};
    if (listener.so_far) {
      answers.so_far = [&](const Answers::MakeReport& report) {
        if (listener.wants_more())
          listener.so_far(shown({{}, Json::parse(report_json(report())), {}}));
      };
    }
    run_program(words, answers, check_options);
    if (!out.part) out.error = error_json(Error("there is no answer to show"));
  } catch (const Error& error) {
    out.part.reset();
    out.error = error_json(files ? shown(error, *files) : error);
  } catch (const std::bad_alloc&) {
    out.part.reset();
    out.error = error_json(Error("this takes more memory than the page may use",
                                 "fewer nodes; the command line has no such limit"));
  }
  return out;
}

Json describe_file(const std::string& name, const std::string& text, const OwnFolder& folder) {
  const std::string path = folder.write(name, text);
  Json facts = Json::array();
  std::string kind;
  try {
    const ImportedFile read = import_text(text, name);
    kind = read.kind;
    for (const ImportFinding& finding : read.found) facts.push_back({finding.key, finding.value});
    for (const std::string& remark : read.remarks) facts.push_back({"note", remark});
  } catch (const Error& error) {
    facts.push_back({"note", error.reason()});
  }
  Json out = {{"kind", kind}, {"name", name}};
  try {  // what the fabric of a network's listing is in our words
    const IbNetwork network = parse_ib_network(read_log(text));
    if (!network.empty()) out["text"] = fabric_of(network, load_catalogue(), name).yaml;
  } catch (const Error& error) {
    facts.push_back({"note", error.reason()});
  }
  bool is_topology = kind.find("topo -m") != std::string::npos;
  try {
    const PartsCatalogue parts = load_catalogue();
    const Topology topology(path, {}, parts);
    const Cluster cluster = topology.cluster({0, true});
    if (kind.empty() || kind.find("settings") != std::string::npos) kind = "topology (YAML)";
    is_topology = true;
  } catch (const Error&) {  // is none; import has said what it is
  }
  out["kind"] = kind;
  out["facts"] = std::move(facts);
  out["topology"] = is_topology;
  return out;
}

}  // namespace fabricast
