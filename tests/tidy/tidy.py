#!/usr/bin/env python3
"""Checks what a compiler does not: which folder may use which library, what would make a run depend
on chance, headers, lines. Prints file:line: what, and fails if there was anything."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["sim", "text", "models", "cli", "include", "library", "python", "examples", "tests",
           "bench", "cmake", ".ci"]
COLUMNS_MAX = 100

# Where a library (the first part of what is included) may be used.
LIBRARIES = {
    "fmt": r"text/|models/|cli/|library/|tests/|bench/",
    "yaml-cpp": r"models/io/",
    "pugixml.hpp": r"models/io/|tests/",
    "nlohmann": r"models/io/|models/studies/\w+/(\w+_json|read_\w+)\.cpp|tests/",
    "CLI": r"cli/",
    "pybind11": r"python/module\.cpp",
    "fabricast": r"include/|examples/",
    "unistd.h": r"cli/|tests/",
    "httplib.h": r"cli/ui/server\.cpp",
    "stdlib.h": r"cli/ui/own_folder\.cpp",  # mkdtemp
    "pthread.h": r"cli/ui/ui\.cpp",
    "fcntl.h": r"cli/",
    "sched.h": r"models/io/host/cpus\.cpp",
    "dlfcn.h": r"tests/plugins/",
    "sqlite3.h": r"models/io/store/",
    "openssl": r"models/studies/sweep/question_identity\.cpp",
    "signal.h": r"cli/sweep/",
    "sys": r"sim/base/large_pages\.hpp|cli/ui/ui\.cpp|models/io/store/file_system\.cpp|cli/sweep/"
           r"|tests/",
    "doctest": r"tests/",
    "benchmark": r"bench/",
    "Eigen": r"models/",  # few files: see check_eigen
}
# What must not stand in the code (comments and literals aside) of sim and models.
BANNED = {
    r"unordered_\w+|\bhash_map\b": "order of iteration differs between libraries: use std::map",
    r"\b(shared|weak)_ptr\b": "values in vectors and indices across them instead",
    r"\bs?rand\s*\(|\brandom_device\b|\b\w+_distribution\b|\bmt19937\w*|<random>":
        "own generators only: the standard's differ between libraries",
    r"\b(time|clock|gettimeofday|clock_gettime|sleep)\s*\(|\bchrono\b|<ctime>|<thread>":
        "no wall clock",
    r"\bgetenv\b": "the environment comes in as config",
}
UNFINISHED = re.compile("TO" + r"DO|FIX" + "ME|X" + "XX")
LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>\w*~*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)


def blanked(text, pattern):
    """The text with everything that matches made empty, lines kept."""
    return pattern.sub(lambda match: "\n" * match.group().count("\n"), text)


def lines(text):
    return enumerate(text.split("\n"), 1)


def check_columns(path, text):
    raw = re.compile(r'R"(?P<tag>\w*~*)\(.*?\)(?P=tag)"', re.S)
    for number, line in lines(blanked(text, raw)):
        if len(line) > COLUMNS_MAX:
            yield path, number, f"{len(line)} columns, at most {COLUMNS_MAX}"


def check_unfinished(path, text):
    for number, line in lines(text):
        if UNFINISHED.search(line):
            yield path, number, "finish it, or say in a comment what is not modelled"


def check_libraries(path, text):
    for number, line in lines(text):
        found = re.match(r"\s*#\s*include\s+<(.+)>", line)
        if found and re.search(r"[./]", found[1]):
            if not re.match(LIBRARIES.get(found[1].split("/")[0], "$"), path):
                yield path, number, f"<{found[1]}> does not belong here"


def check_banned(path, text):
    if not path.startswith(("sim/", "text/", "models/")):
        return
    for number, line in lines(blanked(text, LITERALS)):
        for pattern, why in BANNED.items():
            if found := re.search(pattern, line):
                yield path, number, f"{found.group().strip()}: {why}"


# Who prints, who writes files, who reads digits: one place each.
SPEAKERS = {
    r"fmt::print\b|\bstd::c(?:out|err)\b|\bprintf\b": ("cli/output/streams.cpp",),
    r"\bstd::ofstream\b": ("cli/output/outputs.cpp", "cli/ui/own_folder.cpp"),
    r"\bfrom_chars\b": ("text/numbers.hpp",),
}


SPOKEN_FOR = ("cli/", "include/", "library/", "models/", "sim/", "text/")


def check_speakers(path, text):
    """Elsewhere a full disk or a closed stream would not be seen, a name be printed raw, what
    follows a number be passed over."""
    for number, line in lines(blanked(text, LITERALS)):
        for pattern, speakers in SPEAKERS.items():
            if path.startswith(SPOKEN_FOR) and path not in speakers and \
                    (found := re.search(pattern, line)):
                yield path, number, f"{found.group()}: {speakers[0]} does that"


def check_header(path, text):
    if path.endswith(".hpp") and not re.match(r"#pragma once\n// \w", text):
        yield path, 1, "a header begins with #pragma once and a comment that says what it is"


def check_own_header(path, sources):
    """First, so that the compiler says what the header lacks."""
    own = path.removesuffix(".cpp") + ".hpp"
    first = re.search(r'^#include ["<](.+)[">]', sources[path], re.M)
    if path.endswith(".cpp") and own in sources and (first is None or first[1] != own):
        yield path, 1, f"does not include {own} first"


def check_lists(sources):
    """Every .cpp of the tests stands in a CMakeLists.txt, by name or by GLOB; elsewhere a folder is
    a library with all its files."""
    listed = set()
    for cmake in [ROOT / "CMakeLists.txt", *ROOT.glob("*/CMakeLists.txt"),
                  *ROOT.glob("tests/*/CMakeLists.txt"), *ROOT.glob("examples/*/CMakeLists.txt"),
                  ROOT / "models/io/shipped/CMakeLists.txt"]:
        for glob, arguments in re.findall(r"file\((GLOB\w*)([^)]*)", cmake.read_text()):
            for name in re.findall(r"(?<![\w/.}])[\w/]*\*\.cpp\b", arguments):
                folder, _, name = f"./{name}".rpartition("/")
                found = (cmake.parent / folder).glob(("**/" if "RECURSE" in glob else "") + name)
                listed |= {file.relative_to(ROOT).as_posix() for file in found}
        for name in re.findall(r"(?<![\w/.}*])[\w/]+\.cpp\b", cmake.read_text()):
            listed.add((cmake.parent / name).relative_to(ROOT).as_posix())
    for path in sorted(sources):
        room = (ROOT / path).parent / "CMakeLists.txt"
        is_room = room.exists() and "fabricast_room(" in room.read_text()
        if path.endswith(".cpp") and not is_room and path not in listed:
            yield path, 1, "stands in no CMakeLists.txt"


TYPE = re.compile(r"^(?:template <.*>\n)?(?:struct|class|enum class|enum) (\w+)"
                  r"(?: final)?(?: : [^{;]*)? \{", re.M)
HIDDEN = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.M | re.S)


def check_one_definition(sources):
    """All rooms share a namespace and every test is linked with all of them, so a type's name may
    stand for one type only: the linker takes one of two without a word."""
    first = {}
    for path, text in sorted(sources.items()):
        seen = blanked(text, HIDDEN)
        inner = re.search(r"^namespace fabricast::(testing|api)\b", seen, re.M)
        namespace = inner[1] if inner else ""
        for found in TYPE.finditer(seen):
            at = (path, seen.count("\n", 0, found.start(1)) + 1)
            there = first.setdefault((namespace, found[1]), at)
            if there != at:
                yield *at, f"{found[1]} is defined in {there[0]}:{there[1]}, too"


FITS = {
    "models/studies/accuracy/alpha_beta.cpp",
    "models/studies/accuracy/robust_fit.cpp",
    "models/training/model/kernel_fit.cpp",
}


def check_eigen(sources):
    for path, text in sorted(sources.items()):
        if "#include <Eigen/" in text and path not in FITS:
            yield path, 1, "Eigen takes long to compile: only what fits includes it"


def main():
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*"))]
    files = [ROOT / "CMakeLists.txt"] + [file for file in files if file.is_file()]
    scripts, sources = {}, {}
    for file in files:
        path = file.relative_to(ROOT).as_posix()
        if file.suffix in (".cpp", ".hpp"):
            sources[path] = file.read_text()
        elif file.suffix in (".py", ".cmake") or file.name == "CMakeLists.txt" or ".ci/" in path:
            scripts[path] = file.read_text()
    found = []
    for path, text in {**scripts, **sources}.items():
        found += [*check_columns(path, text), *check_unfinished(path, text)]
    for path, text in sources.items():
        found += [*check_libraries(path, text), *check_banned(path, text),
                  *check_header(path, text), *check_speakers(path, text)]
        found += check_own_header(path, sources)
    found += [*check_lists(sources), *check_one_definition(sources), *check_eigen(sources)]
    for path, number, what in found:
        print(f"{path}:{number}: {what}")
    print(f"{len(sources)} sources and {len(scripts)} scripts read, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
