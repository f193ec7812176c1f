// Readers of environment settings: one short text per kind of file, with the traps of its syntax.
// The expected settings were derived by hand from what the program that reads the file would do.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "models/io/environments/env_file.hpp"
#include "models/io/environments/shell_arithmetic.hpp"
#include "tests/unit/error_text.hpp"

using namespace fabricast;

namespace {

/// "line:column NAME=value" and what is unusual, one setting a line.
std::string read(const std::string& text, const std::string& path) {
  std::string out;
  for (const EnvAssignment& a : parse_env_file(text, path).assignments) {
    out += fmt::format("{}:{} {}={}", a.line, a.column, a.name, a.value);
    if (a.scope == EnvScope::shell_only) out += " unexported";
    if (a.scope == EnvScope::command) out += " launch";
    if (a.scope == EnvScope::unset) out += " unset";
    if (a.computed) out += " computed";
    if (a.conditional) out += " conditional";
    for (const EnvTrap trap : a.traps) out += fmt::format(" trap{}", static_cast<int>(trap));
    out += '\n';
  }
  return out;
}

std::string trap(EnvTrap which) { return fmt::format(" trap{}", static_cast<int>(which)); }

EnvFile shell(const std::string& text) { return parse_env_file(text, "a.sh"); }

}  // namespace

TEST_CASE("kinds are told by name, then by content") {
  const auto kind = [](const char* path, const char* text) {
    return std::string(to_text(detect_env_kind(path, text)));
  };
  CHECK(kind("x/Dockerfile", "") == "dockerfile");
  CHECK(kind("site.nccl.conf", "export A=1\n") == "nccl_conf");
  CHECK(kind("gb200.conf", "# c\nexport A=1\n") == "shell");
  CHECK(kind("a", "#!/bin/tcsh\n") == "csh");
  CHECK(kind("a", "#!/usr/bin/env python3\n") == "python");
  CHECK(kind("a", "#SBATCH -N 2\n") == "shell");
  CHECK(kind("a", "FROM x\n") == "dockerfile");
  CHECK(kind("a", "  - name: A\n    value: b\n") == "yaml");
  CHECK(kind("a", "[env]\nA = \"b\"\n") == "toml");
  CHECK(kind("a", "%env A=1\n") == "python");
  CHECK(kind("a", "A=1\nB=2\n") == "plain");
}

TEST_CASE("plain lines: what docker keeps is noted, what was meant is read") {
  const std::string text =
      "A=1\r\n#B=2\r\nC=\"x\"\r\nD=eth0 # front\r\nE=Tree \r\n"
      "F=\r\n=3\r\nG\r\n";
  CHECK(read(text, "a.env") == "1:1 A=1\n3:1 C=x" + trap(EnvTrap::quotes_in_value) +
                                   "\n4:1 D=eth0" + trap(EnvTrap::comment_in_value) +
                                   "\n5:1 E=Tree" + trap(EnvTrap::blank_at_end) + "\n6:1 F=\n");
  CHECK(parse_env_file(text, "a.env").remarks.at(0).kind == EnvRemark::Kind::crlf);
}

TEST_CASE("nccl.conf is taken to the letter") {
  CHECK(read("A=1 # no\nexport B=2\nC = 3\n; D=4\n#E=5\nF=\"6\"\nG=7\r\n", "nccl.conf") ==
        "1:1 A=1 # no" + trap(EnvTrap::comment_in_value) + "\n2:8 B=2" +
            trap(EnvTrap::blank_in_name) + "\n3:1 C= 3" + trap(EnvTrap::blank_in_name) +
            "\n4:3 D=4" + trap(EnvTrap::commented_name) + "\n6:1 F=\"6\"" +
            trap(EnvTrap::quotes_in_value) + "\n7:1 G=7\r" + trap(EnvTrap::carriage_return) + "\n");
}

TEST_CASE("shell: exports, quotes, comments, continuation lines") {
  CHECK(read("export A=1 B='two words' # C=3\nexport D=\"x\\\"y\" \\\n  E=a\\ b\nF=1\nexport F\n"
             "G=2\nunset A\n# export H=1\necho \"I=1\"\nJ=1 true\n",
             "a.sh") ==
        "1:8 A=1\n1:12 B=two words\n2:8 D=x\"y\n3:3 E=a b\n4:1 F=1\n6:1 G=2 unexported\n"
        "7:7 A= unset\n10:1 J=1 launch\n");
  CHECK(read("set -a\nA=1\n", "a.sh") == "2:1 A=1\n");
}

TEST_CASE("shell: what only a run can tell") {
  CHECK(read("export A=$X B=${Y:-1} C=$(id) D=`id` E=$((1+X)) F='$X' G=\"a$\"\n", "a.sh") ==
        "1:8 A=$X computed\n1:13 B=${Y:-1} computed\n1:23 C=$(id) computed\n1:31 D=`id` computed\n"
        "1:38 E=$((1+X)) computed\n1:49 F=$X\n1:56 G=a$\n");
}

TEST_CASE("shell: arithmetic without variables is done") {
  CHECK(read("export A=$((2 * 1024 * 1024)) B=x$(( (7-1)/2 ))y C=$((1<<20))\n", "a.sh") ==
        "1:8 A=2097152\n1:31 B=x3y\n1:50 C=1048576\n");
  for (const char* open :
       {"", "1+", "1/0", "1 2", "9223372036854775807+1", "2**3", "X", "(1", "1<<99"}) {
    CAPTURE(open);
    CHECK_FALSE(shell_arithmetic(open).has_value());
  }
  CHECK_FALSE(shell_arithmetic(std::string(10000, '(')).has_value());
}

TEST_CASE("shell: branches, functions and here documents") {
  CHECK(read("if x; then\n  export A=1\nelse\n  export A=2\nfi\nexport B=3\n", "a.sh") ==
        "2:10 A=1 conditional\n4:10 A=2 conditional\n6:8 B=3\n");
  CHECK(read("case $x in\n  a) export A=1 ;;\n  b) export A=2 ;;\nesac\nexport B=3\n", "a.sh") ==
        "2:13 A=1 conditional\n3:13 A=2 conditional\n5:8 B=3\n");
  CHECK(read("f() {\n  export A=1\n}\nexport B=2\n", "a.sh") == "2:10 A=1 conditional\n4:8 B=2\n");
  CHECK(read("cat > /etc/nccl.conf <<EOF\nA=1 # x\nEOF\nexport B=2\n", "a.sh") ==
        "2:1 A=1 # x" + trap(EnvTrap::comment_in_value) + "\n4:8 B=2\n");
  const EnvFile branches = shell("if x; then\nexport A=1\nelse\nexport A=2\nfi\n");
  CHECK(branches.assignments[0].group != branches.assignments[1].group);
}

TEST_CASE("shell: settings of a launch") {
  const EnvFile file = shell(
      "mpirun -np 8 -x A -x B=1 \\\n -x C=a=b ./x\nsrun --export=ALL,D=1,E ./x\n"
      "docker run -e F=1 --env=G=2 img\nenv H=1 ./x\n");
  REQUIRE(file.launches.size() == 2);
  CHECK(file.launches[0].names == std::vector<std::string>{"A"});
  CHECK_FALSE(file.launches[0].passes_all);
  CHECK(file.launches[1].passes_all);
  CHECK(file.launches[1].names == std::vector<std::string>{"E"});
  std::string names;
  for (const EnvAssignment& a : file.assignments) {
    CHECK(a.scope == EnvScope::command);
    names += fmt::format("{}={} ", a.name, a.value);
  }
  CHECK(names == "B=1 C=a=b D=1 F=1 G=2 H=1 ");
  CHECK(file.assignments[0].group == file.launches[0].group);
  CHECK(file.assignments[2].group == file.launches[1].group);
}

TEST_CASE("sbatch: --export=NONE and sourced files are remarked") {
  const EnvFile file = parse_env_file("#!/bin/bash\n#SBATCH --export=NONE\nsource env.sh\n", "j");
  REQUIRE(file.remarks.size() == 2);
  CHECK(file.remarks[0].kind == EnvRemark::Kind::export_none);
  CHECK(file.remarks[0].line == 2);
  CHECK(file.remarks[1].what == "env.sh");
}

TEST_CASE("shell: lists of batch systems and containers") {
  CHECK(read("#BSUB -env \"all,NCCL_A=1 ,NCCL_B=2\"\n", "a.sh") ==
        "1:17 NCCL_A=1  launch\n1:27 NCCL_B=2 launch\n");
  CHECK(read("#PBS -v NCCL_A=1,NCCL_B=2\n", "a.sh") ==
        "1:9 NCCL_A=1 launch\n1:18 NCCL_B=2 launch\n");
  CHECK(read("jsrun -n4 -E NCCL_A=1 ./a\n", "a.sh") == "1:14 NCCL_A=1 launch\n");
  CHECK(read("apptainer exec --env NCCL_A=1,NCCL_B=2 x.sif ./a\n", "a.sh") ==
        "1:22 NCCL_A=1 launch\n1:31 NCCL_B=2 launch\n");
  // docker's takes one: the comma is of the value.
  CHECK(read("docker run --env NCCL_A=1,NCCL_B=2 x\n", "a.sh") ==
        "1:18 NCCL_A=1,NCCL_B=2 launch\n");
}

TEST_CASE("csh") {
  CHECK(read("setenv A 1\nsetenv B \"=x,y\" # c\nunsetenv A\nset C=1\n", "a.csh") ==
        "1:8 A=1\n2:8 B==x,y\n3:10 A= unset\n");
}

TEST_CASE("Dockerfile: both forms of ENV, ARG, RUN") {
  CHECK(read("FROM x\nENV A 1, 2\nENV B=1 C=\"x y\" \\\n    D=2\nARG E=1\nENV F=${E} G=1\n"
             "ENV H=${NOPE}\nRUN export I=1 && echo 'J=2' >> /etc/nccl.conf\n",
             "Dockerfile") == "2:5 A=1, 2\n3:5 B=1\n3:9 C=x y\n4:5 D=2\n5:5 E=1 unexported" +
                                  trap(EnvTrap::build_argument) +
                                  "\n6:5 F=${E} computed\n6:12 G=1\n" + "7:5 H=${NOPE} computed" +
                                  trap(EnvTrap::undefined_argument) + "\n8:12 I=1" +
                                  trap(EnvTrap::lost_after_run) + "\n8:25 J=2\n");
}

TEST_CASE("YAML: pairs, maps, lists, block scalars") {
  CHECK(read("env:\n- name: A\n  value: \"1\"\n- name: B\n  # why\n  value: 2\n"
             "- {name: C, value: SYS}\n- name: D\n  valueFrom:\n    x: y\n- name: E\n  value: no\n",
             "a.yaml") ==
        "2:9 A=1\n4:9 B=2" + trap(EnvTrap::yaml_number) + "\n7:10 C=SYS\n8:9 D=" + " computed" +
            trap(EnvTrap::value_elsewhere) + "\n11:9 E=no" + trap(EnvTrap::yaml_bool) + "\n");
  CHECK(read("environment:\n  A: \"1\"\n  B: x # c\nenv:\n  - C=1\n  - \"D=2\"\nset:\n- E: \"3\"\n",
             "a.yaml") == "2:3 A=1\n3:3 B=x\n5:5 C=1\n6:6 D=2\n8:3 E=3\n");
  CHECK(read("data:\n  nccl.conf: |\n    A=1 # c\n  run: |-\n    export B=2\n    mpirun -x C=3 x\n",
             "a.yaml") ==
        "3:5 A=1 # c" + trap(EnvTrap::comment_in_value) + "\n5:12 B=2\n6:15 C=3 launch\n");
  CHECK(read("args: [\n  \"mpirun \\\n   -x A=1 \\\n   x\"\n]\n", "a.yaml") == "3:7 A=1 launch\n");
}

TEST_CASE("YAML: what a container runs is read as a command line") {
  CHECK(read("    command: [\"mpirun\", \"-x\", \"NCCL_A=1\", t]\n", "a.yaml") ==
        "1:31 NCCL_A=1 launch\n");
  CHECK(read("    command: [mpirun,\n      -x, NCCL_A=1]\n", "a.yaml") == "2:11 NCCL_A=1 launch\n");
  CHECK(read("    command:\n    - mpirun\n    - -x\n    - NCCL_A=1\n    args: [-x, NCCL_B=2]\n",
             "a.yaml") == "4:7 NCCL_A=1 launch\n5:16 NCCL_B=2 launch\n");
  const std::string script =
      read("    command: [\"/bin/bash\", \"-c\", \"export NCCL_A=1; NCCL_B=2 python t.py\"]\n",
           "a.yaml");
  CHECK(script.find(" NCCL_A=1\n") != std::string::npos);
  CHECK(script.find(" NCCL_B=2 launch\n") != std::string::npos);
  const std::string lines =
      read("    command:\n    - bash\n    - -c\n    - export NCCL_A=1; NCCL_B=2 python t.py\n",
           "a.yaml");
  CHECK(lines.find(" NCCL_A=1\n") != std::string::npos);
  // Words behind an entry point that is not here set what they say all the same.
  CHECK(read("    args:\n    - -x\n    - NCCL_A=1\n", "a.yaml") == "3:7 NCCL_A=1\n");
  CHECK(read("    command: [python, t.py\n", "a.yaml").empty());  // never ends
}

TEST_CASE("YAML: a ConfigMap that a container takes whole is remarked") {
  const auto remarks = [](const std::string& text) {
    std::string out;
    for (const EnvRemark& r : parse_env_file(text, "a.yaml").remarks)
      out += fmt::format("{} {};", r.line, r.what);
    return out;
  };
  CHECK(remarks("    envFrom:\n    - configMapRef:\n        name: nccl\n    - secretRef:\n        "
                "name: s\n") == "2 nccl;");
  CHECK(remarks("    envFrom:\n    - configMapRef: {name: nccl}\n    env: []\n") == "2 nccl;");
  CHECK(remarks("    env: []\n").empty());
}

TEST_CASE("YAML: templates are passed over and their branches kept apart") {
  const EnvFile file = parse_env_file(
      "env:\n{{- if .Values.x }}\n- name: A\n  value: 1a\n{{- else }}\n- name: A\n  value: "
      "\"{{ .Values.y }}\"\n{{- end }}\n- name: B\n  value: x\n",
      "a.yaml");
  REQUIRE(file.assignments.size() == 3);
  CHECK(file.assignments[0].conditional);
  CHECK(file.assignments[0].group != file.assignments[1].group);
  CHECK(file.assignments[1].computed);
  CHECK_FALSE(file.assignments[2].conditional);
}

TEST_CASE("TOML: tables and arrays of assignments") {
  CHECK(read("name = \"x\"\n[env]\nA = \"1\"\nB = 2 # c\n[sys]\nnccl = [\n  \"C=3\",\n  # \"D=4\"\n"
             "  \"-x E=5\",\n]\nF = \"6\"\n",
             "a.toml") == "1:1 name=x\n3:1 A=1\n4:1 B=2\n7:4 C=3\n9:7 E=5 launch\n11:1 F=6\n");
}

TEST_CASE("Python: assignments, magics, what comes after the process group") {
  CHECK(read("import os\nos.environ[\"A\"] = \"1\"\nos.environ.setdefault('B', '2')\n"
             "os.environ['C'] = str(x)\nif os.environ['D'] == '1': pass\n%env E=3\n!export F=4\n"
             "dist.init_process_group('nccl')\nos.environ['G'] = '5'\n",
             "a.py") == "2:13 A=1\n3:24 B=2\n4:13 C=str(x) computed\n6:6 E=3\n7:9 F=4" +
                            trap(EnvTrap::lost_after_run) + "\n9:13 G=5" +
                            trap(EnvTrap::after_init) + "\n");
  CHECK(read("{\"cells\": [{\"source\": [\n  \"os.environ[\\\"A\\\"] = \\\"1\\\"\\n\",\n]}]}\n",
             "a.ipynb") == "2:13 A=1\n");
}

TEST_CASE("Python: notebooks escape as JSON does, and may keep a cell in one string") {
  CHECK(read("{\"source\": [\n  \"os.environ['A'] = '\\u00e9\\t\\\\'\\n\"\n]}\n", "a.ipynb") ==
        "2:13 A=\u00e9\t\\\n");
  CHECK(read("{\n\"source\": \"import os\\nos.environ['A'] = '1'\\n%env B=2\",\n}\n", "a.ipynb") ==
        "2:13 A=1\n2:6 B=2\n");
}

TEST_CASE("Python: copies of os.environ for the processes that it starts") {
  CHECK(read("env = dict(os.environ, NCCL_A=\"1\", B='2')\nother = f(C='3')\n", "a.py") ==
        "1:24 NCCL_A=1\n1:36 B=2\n");
  CHECK(read("run(cmd, env={**os.environ, 'NCCL_A': '1', **more}, check=True)\nD = '4'\n",
             "a.py") == "1:30 NCCL_A=1\n");
  CHECK(read("env = os.environ | {\"A\": str(n)}\nrun(cmd, check=True)\n", "a.py") ==
        "1:22 A=str(n) computed\n");
  CHECK(read("env = dict(\n    os.environ,\n    A='1',\n    B=2,\n)\nC = '3'\n", "a.py") ==
        "3:5 A=1 conditional\n4:5 B=2 conditional" + trap(EnvTrap::python_value) + "\n");
  CHECK(read("env = {\n    **os.environ,\n    'A': '1',\n}\nrun(cmd, env=env, B='2')\n", "a.py") ==
        "3:6 A=1 conditional\n");
  // Another process: it has yet to make its process group.
  CHECK(read("dist.init_process_group()\nenv = dict(os.environ, A='1')\n", "a.py") == "2:24 A=1\n");
  CHECK(read("show(\n  os.environ,\n  a=1)\n", "a.py").empty());
}

TEST_CASE("Python: updates of os.environ") {
  CHECK(read("os.environ.update({'A': '1', 'B': 2, **x})\nos.environ |= {\n  'C': f(1, ')'),\n}\n"
             "os.environ.update(D='4', E=5)\nos.environ.update(config)\nother = {'F': '6'}\n",
             "a.py") == "1:21 A=1\n1:31 B=2" + trap(EnvTrap::python_value) +
                            "\n3:4 C=f(1, ')') computed conditional\n5:19 D=4\n5:26 E=5" +
                            trap(EnvTrap::python_value) + "\n");
  CHECK(parse_env_file("os.environ.update(config)\n", "a.py").remarks.size() == 1);
}

TEST_CASE("what is no text is refused") {
  CHECK(error_text([] {
          parse_env_file(std::string("A=1\0B", 5), "x.bin");
        }).starts_with("x.bin: is not text"));
  CHECK(error_text([] { read_env_file("/nowhere/x"); }).starts_with("/nowhere/x: cannot be read"));
  CHECK(error_text([] { env_option("A B"); }).starts_with("\"A B\" is not an assignment"));
  CHECK(error_text([] { env_kind_from_text("yml"); }).find("yaml") != std::string::npos);
}

TEST_CASE("no text makes a reader fail") {
  // Seeded mutations of valid files: bytes replaced, cut, doubled. Whatever comes out, every
  // setting has a name and stands on a line of the text.
  const std::vector<std::string> seeds = {
      "export A=1 B=\"$(x \"y\")\" C='z'\nif [ a ]; then\n  mpirun -x D=1 \\\n -x E x\nfi\n"
      "cat <<EOF > nccl.conf\nF=1\nEOF\n",
      "FROM x\nENV A 1\nENV B=\"2\" \\\n # c\n C=3\nARG D\nRUN export E=1 && echo \"F=1\" >> "
      "nccl.conf\n",
      "env:\n- name: A\n  value: \"1\"\n- {name: B, value: C}\n{{ if }}\nrun: |\n  export D=1\n"
      "args: [\"mpirun \\\n -x E=1\"]\n",
      "[a]\nb = [\n\"C=1\", '-x D=2'\n]\nE = \"1\"\n",
      "import os\nos.environ[\"A\"] = \"1\"\n%env B=1\n!export C=1\nx = {\"NCCL_D\": \"1\"}\n",
      "setenv A \"1\"\nunsetenv B\n",
      "A=1 # x\nB=\"2\"\nexport C=3\n"};
  std::uint64_t state = 42;
  const auto next = [&] {  // splitmix64
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>(z ^ z >> 31);
  };
  const std::string spice = "\"'\\\n\r\t $(){}`=<>|&;#-:[],!%x";
  std::size_t settings = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = seeds[next() % seeds.size()];
    for (std::size_t edits = 1 + next() % 6; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = next() % text.size();
      switch (next() % 4) {
        case 0:
          text[at] = spice[next() % spice.size()];
          break;
        case 1:
          text.insert(at, 1, spice[next() % spice.size()]);
          break;
        case 2:
          text.erase(at, 1 + next() % 8);
          break;
        default:
          text += text.substr(at, 1 + next() % 40);
      }
    }
    const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const std::string_view kind : env_kind_words()) {
      const EnvFile file = parse_env_file(text, "f", env_kind_from_text(kind));
      for (const EnvAssignment& a : file.assignments) {
        CAPTURE(text);
        REQUIRE(is_env_name(a.name));
        REQUIRE(a.line >= 1);
        REQUIRE(a.line <= lines);
        REQUIRE(a.column >= 1);
        ++settings;
      }
    }
  }
  CHECK(settings > 10000);
}
