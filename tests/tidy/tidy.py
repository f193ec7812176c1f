#!/usr/bin/env python3
"""Checks what a compiler does not: which folder may know which, what each file uses and
includes, what would make a run depend on chance, lists of files, headers, lines. Prints file:line:
what, and fails if there was anything."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["sim", "models", "cli", "tests", "bench", "cmake", ".ci"]
COLUMNS_MAX = 100

# What files of a folder may include: folders, or single files. The first match counts.
TEXT_HELPERS = ["models/io/quoting.hpp", "models/io/unit_text.hpp", "models/io/words.hpp"]
MAY_INCLUDE = {
    "sim": ["sim"],
    "models/hardware": ["sim", "models/hardware", *TEXT_HELPERS],
    "models/nccl": ["sim", "models/hardware", "models/nccl", *TEXT_HELPERS],
    "models/training": ["sim", "models/hardware", "models/nccl", "models/training", *TEXT_HELPERS],
    "models/io": ["sim", "models"],
    "models/studies": ["sim", "models"],
    "models/lint": ["sim", "models"],
    "cli": ["sim", "models", "cli"],
    "bench": ["sim", "models"],
    "tests": ["sim", "models", "tests"],
}
# Where a library (the first part of what is included) may be used.
LIBRARIES = {
    "fmt": r"models/|cli/|tests/|bench/",
    "yaml-cpp": r"models/io/",
    "pugixml.hpp": r"models/io/|tests/",
    "nlohmann": r"models/io/|models/(studies|lint)/\w+_json\.cpp|tests/",
    "CLI": r"cli/",
    "unistd.h": r"cli/|tests/",
    "fcntl.h": r"cli/",
    "sys": r"sim/large_pages\.hpp",
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


def may(name, allowed):
    return any(name == entry or name.startswith(entry + "/") for entry in allowed)


def check_columns(path, text):
    raw = re.compile(r'R"(?P<tag>\w*~*)\(.*?\)(?P=tag)"', re.S)
    for number, line in lines(blanked(text, raw)):
        if len(line) > COLUMNS_MAX:
            yield path, number, f"{len(line)} columns, at most {COLUMNS_MAX}"


def check_unfinished(path, text):
    for number, line in lines(text):
        if UNFINISHED.search(line):
            yield path, number, "finish it, or say in a comment what is not modelled"


def check_includes(path, text):
    folder = next((f for f in MAY_INCLUDE if path.startswith(f + "/")), None)
    if folder is None:
        yield path, 1, "tests/tidy/tidy.py does not know what this folder may include"
        return
    for number, line in lines(text):
        own = re.match(r'\s*#\s*include\s+"(.+)"', line)
        other = re.match(r"\s*#\s*include\s+<(.+)>", line)
        if own and "/" in own[1] and not may(own[1], MAY_INCLUDE[folder]):
            yield path, number, f"{folder}/ must not know {own[1]}"
        if other and re.search(r"[./]", other[1]):
            library = other[1].split("/")[0]
            if not re.match(LIBRARIES.get(library, "$"), path):
                yield path, number, f"<{other[1]}> does not belong here"


def check_banned(path, text):
    if not path.startswith(("sim/", "models/")):
        return
    for number, line in lines(blanked(text, LITERALS)):
        for pattern, why in BANNED.items():
            if found := re.search(pattern, line):
                yield path, number, f"{found.group().strip()}: {why}"


# Who prints, who writes files: one place each.
SPEAKERS = {
    r"fmt::print\b|\bstd::c(?:out|err)\b|\bprintf\b": ("cli/streams.cpp",),
    r"\bstd::ofstream\b": ("cli/outputs.cpp",),
}


def check_speakers(path, text):
    """Elsewhere a full disk or a closed stream would not be seen, or a name be printed raw."""
    for number, line in lines(blanked(text, LITERALS)):
        for pattern, speakers in SPEAKERS.items():
            if path.startswith(("cli/", "models/", "sim/")) and path not in speakers and \
                    (found := re.search(pattern, line)):
                yield path, number, f"{found.group()}: {speakers[0]} does that"


def check_header(path, text):
    if path.endswith(".hpp") and not re.match(r"#pragma once\n// \w", text):
        yield path, 1, "a header begins with #pragma once and a comment that says what it is"


# Eight files are compiled as one and tests have precompiled headers, so the compiler misses an
# #include that is not there. Names of the standard library, of fmt and of types, and what declares
# them: reached through a file's own includes, as it would be if compiled alone.
STANDARD = {
    "algorithm": "sort stable_sort nth_element min max clamp lower_bound upper_bound is_sorted",
    "array": "array",
    "bit": "bit_width countr_zero popcount has_single_bit bit_ceil bit_floor",
    "bitset": "bitset",
    "cmath": "sqrt pow log log2 exp round lround floor ceil isfinite",
    "cstdint": "int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t",
    "deque": "deque",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "unique_ptr make_unique",
    "numeric": "accumulate iota gcd lcm",
    "optional": "optional nullopt nullopt_t",
    "set": "set multiset",
    "span": "span",
    "sstream": "ostringstream istringstream stringstream",
    "string": "string to_string",
    "string_view": "string_view",
    "tuple": "tuple tie",
    "utility": "pair exchange move swap",
    "variant": "variant visit monostate",
    "vector": "vector",
}
NAMESPACES = {"CLI": "CLI/", "Eigen": "Eigen/", "YAML": "yaml-cpp/", "benchmark": "benchmark/",
              "fmt": "fmt/", "nlohmann": "nlohmann/", "pugi": "pugixml.hpp"}
HEADERS_OF = {name: header for header, names in STANDARD.items() for name in names.split()}
GIVE_UTILITY = ("algorithm", "array", "functional", "map", "memory", "optional", "set", "string",
                "string_view", "tuple", "utility", "variant", "vector")
# Types, and functions whose declaration begins a line; and all that may be called like one.
AT_TOP = re.compile(r"^(?:struct|class|enum class|using) ([A-Z]\w+)"
                    r"|^(?!return|using|namespace)[\w:]+(?:[ \w:&*]|<[^;()]*>)*[ &*>]([a-z]\w*)\(",
                    re.M)
DECLARED = re.compile(r"\b(?:struct|enum class|class|enum|using)\s+(\w+)"
                      r"|[\w>&*\]] [&*]?([a-z]\w*)(?=[({,;)]| = |\[)")


def included(path, sources):
    """What a file includes, itself or through others: "models/x.hpp", "vector", "fmt/format.h"."""
    out, left = {path}, [path]
    while left:
        at = left.pop()
        for name in re.findall(r'^\s*#\s*include\s+[<"](.+?)[>"]', sources[at], re.M):
            beside = (Path(at).parent / name).as_posix()
            known = next((f for f in (beside, "tests/unit/" + name) if f in sources), name)
            if known not in out:
                out.add(known)
                if known in sources:
                    left.append(known)
    return out


def check_included(sources):
    code = {path: blanked(text, LITERALS) for path, text in sources.items()}
    declares = {path: {name for names in DECLARED.findall(text) for name in names}
                for path, text in code.items()}
    at_top = {}  # name: headers that declare it for others
    for path, text in code.items():
        if path.endswith(".hpp"):
            for name in {name for names in AT_TOP.findall(text) for name in names} - {""}:
                at_top.setdefault(name, []).append(path)
    for path, text in code.items():
        has = included(path, sources)
        words = set(re.findall(r"\b[A-Z]\w+|(?<![.:>\w])[a-z]\w*(?=\()", text))
        known = set().union(*(declares[other] for other in has if other in sources))
        for name in sorted((words & at_top.keys()) - known):
            yield path, 1, f"{name} is used, but {at_top[name][0]} is not included"
        for name in sorted(set(re.findall(r"\bstd::(\w+)", text)) & HEADERS_OF.keys()):
            header = HEADERS_OF[name]
            if not has.intersection(GIVE_UTILITY if header == "utility" else (header,)):
                yield path, 1, f"std::{name} is used, but <{header}> is not included"
        if "std::ranges::" in text and not has & {"algorithm", "ranges"}:
            yield path, 1, "std::ranges is used, but <algorithm> is not included"
        for name, begin in NAMESPACES.items():
            if re.search(rf"\b{name}::", text) and not any(h.startswith(begin) for h in has):
                yield path, 1, f"{name}:: is used, but nothing of <{begin}...> is included"


def check_lists(sources):
    """Every .cpp stands in a CMakeLists.txt by name or by GLOB, and everything that stands there
    exists."""
    listed = set()
    for cmake in [ROOT / "CMakeLists.txt", *ROOT.glob("*/CMakeLists.txt"),
                  *ROOT.glob("tests/*/CMakeLists.txt")]:
        for number, line in lines(cmake.read_text()):
            for name in re.findall(r"(?<![\w/.}])[\w/]+\*\.cpp\b", line):
                listed |= {file.relative_to(ROOT).as_posix() for file in cmake.parent.glob(name)}
            for name in re.findall(r"(?<![\w/.}*])[\w/]+\.cpp\b", line.split("#")[0]):
                file = (cmake.parent / name).relative_to(ROOT).as_posix()
                listed.add(file)
                if file not in sources:
                    yield cmake.relative_to(ROOT), number, f"{name} does not exist"
    for path in sorted(sources):
        if path.endswith(".cpp") and path not in listed:
            yield path, 1, "stands in no CMakeLists.txt"


FITS = {
    "models/studies/alpha_beta.cpp",
    "models/studies/robust_fit.cpp",
    "models/training/kernel_fit.cpp",
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
        found += [*check_includes(path, text), *check_banned(path, text),
                  *check_header(path, text), *check_speakers(path, text)]
    found += [*check_lists(sources), *check_eigen(sources), *check_included(sources)]
    for path, number, what in found:
        print(f"{path}:{number}: {what}")
    print(f"{len(sources)} sources and {len(scripts)} scripts read, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
