#include "models/io/environments/env_launch.hpp"

#include <algorithm>

namespace fabricast::env_readers {
namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

class LaunchReader {
 public:
  LaunchReader(const std::vector<ShellWord>& words, std::size_t program, const Context& context,
               EnvFile& out)
      : words_(words), program_(program), context_(context), out_(out) {
    context_.group = new_group(out);
  }

  void run() {
    const std::string_view name = base_name(words_[program_].text);
    const bool mpi = is_one_of(name, {"mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra"});
    const bool slurm = is_one_of(name, {"srun", "sbatch", "salloc", "bsub", "qsub"});
    lists_env_ = is_one_of(name, {"apptainer", "singularity", "torchx"});
    is_jsrun_ = name == "jsrun";
    launch_.line = words_[program_].line;
    launch_.kind = mpi ? EnvLaunch::Kind::mpirun : EnvLaunch::Kind::srun;
    launch_.group = context_.group;
    // -x means something else to other programs: there only NAME=value counts.
    for (at_ = program_ + 1; at_ < words_.size(); ++at_) option(mpi, slurm);
    if (mpi || name == "srun") out_.launches.push_back(launch_);
  }

 private:
  void option(bool mpi, bool slurm) {
    const std::string& word = words_[at_].text;
    if (lists_env_ && word == "--env" && at_ + 1 < words_.size()) {
      list(words_[++at_], 0);
    } else if (is_jsrun_ && word == "-E" && at_ + 1 < words_.size()) {
      passed(words_[++at_], true);
    } else if (word == "-x" || word == "-e" || word == "--env") {
      if (at_ + 1 < words_.size()) passed(words_[++at_], mpi || word != "-x");
    } else if (is_one_of(word, {"-env", "-genv"}) && at_ + 2 < words_.size()) {
      pair(words_[at_ + 1], words_[at_ + 2]);
      at_ += 2;
    } else if (word == "-genvall" || word == "-envall") {
      launch_.passes_all = true;
    } else if (word.starts_with("--env=")) {
      list(words_[at_], 6);
    } else if (slurm && word.starts_with("--export=")) {
      launch_.by_list = true;
      list(words_[at_], 9);
    } else if (slurm && word == "--export" && at_ + 1 < words_.size()) {
      launch_.by_list = true;
      list(words_[++at_], 0);
    } else if (word.starts_with("-x") && mpi && !assigned_name(word.substr(2)).empty()) {
      ShellWord tail = words_[at_];
      tail.text.erase(0, 2);
      tail.column += 2;
      passed(tail, true);
    }
  }

  void passed(const ShellWord& word, bool by_name) {
    if (add_assignment(word, EnvScope::command, context_, out_)) return;
    if (by_name && is_env_name(word.text)) launch_.names.push_back(word.text);
  }

  void pair(const ShellWord& name, const ShellWord& value) {
    if (!is_env_name(name.text)) return;
    EnvAssignment& a = add(out_, context_, name.text, value.text, name.line, name.column);
    a.scope = EnvScope::command;
    a.computed = value.computed;
  }

  /// "ALL,NAME,NAME=value": a comma ends a value there.
  void list(const ShellWord& word, std::size_t skip) {
    std::string_view rest = std::string_view(word.text).substr(skip);
    while (!rest.empty()) {
      const std::string_view entry = rest.substr(0, rest.find(','));
      ShellWord part = word;
      part.text = entry;
      part.column += static_cast<int>(entry.data() - word.text.data());
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
      if (entry == "ALL") launch_.passes_all = true;
      if (entry == "NONE" || entry == "NIL") launch_.passes_none = true;
      if (entry != "ALL" && entry != "NONE" && entry != "NIL") passed(part, true);
    }
  }

  const std::vector<ShellWord>& words_;
  std::size_t program_, at_ = 0;
  Context context_;
  EnvFile& out_;
  EnvLaunch launch_;
  bool lists_env_ = false;  ///< --env A=1,B=2
  bool is_jsrun_ = false;
};

}  // namespace

std::string_view assigned_name(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {};
  std::string_view name = text.substr(0, equals);
  if (name.ends_with('+')) name.remove_suffix(1);  // NAME+=value
  return is_env_name(name) ? name : std::string_view{};
}

bool add_assignment(const ShellWord& word, EnvScope scope, const Context& context, EnvFile& out) {
  const std::string_view name = assigned_name(word.text);
  if (name.empty()) return false;
  const std::string_view value = std::string_view(word.text).substr(word.text.find('=') + 1);
  EnvAssignment& a = add(out, context, name, value, word.line, word.column);
  a.scope = scope;
  a.computed =
      word.computed || value.find("{{") != std::string_view::npos || word.text[name.size()] == '+';
  return true;
}

void read_launch(const std::vector<ShellWord>& words, std::size_t program, const Context& context,
                 EnvFile& out) {
  LaunchReader(words, program, context, out).run();
}

}  // namespace fabricast::env_readers
