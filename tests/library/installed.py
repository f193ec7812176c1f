#!/usr/bin/env python3
"""Installs into a folder of the build, then builds and runs examples/cpp from there alone, found by
CMake and by pkg-config: both print the same. Usage: installed.py BUILD"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/cpp"


def run(*words, **more):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
    return done.stdout


def installed(build, folder):
    """The prefix of a tree with the program, the library and its headers, staged by DESTDIR."""
    for component in ("program", "library", "development"):
        run(
            "cmake",
            "--install",
            build,
            "--prefix",
            "/usr",
            "--component",
            component,
            env={**os.environ, "DESTDIR": str(folder)},
        )
    return folder / "usr"


def check_headers(prefix):
    """Of include/fabricast and nothing else; they include each other and the standard's only."""
    headers = sorted(file for file in (prefix / "include").rglob("*") if file.is_file())
    assert {file.name for file in headers} == {
        file.name.removesuffix(".in") for file in (ROOT / "include/fabricast").iterdir()
    }, headers
    for file in headers:
        for name in re.findall(r'#include [<"](.+)[>"]', file.read_text()):
            assert name.startswith("fabricast/") or re.fullmatch(r"[a-z_0-9]+", name), (file, name)


def check_library(prefix, library):
    """Its name has the version, and it shows fabricast::api only."""
    version = re.search(
        r"project\(fabricast VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()
    )[1]
    assert library.resolve().name == f"libfabricast.so.{version}", library.resolve()
    soname = re.search(r"SONAME.*\[(.+)\]", run("readelf", "-d", library))[1]
    assert soname == f"libfabricast.so.{version.split('.')[0]}", soname
    shown = run("nm", "-D", "--defined-only", "-C", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in shown]
    others = [name for name in names if "fabricast" in name and "fabricast::api::" not in name]
    assert names and not others, others
    assert run(prefix / "bin/fabricast", "--version") == f"fabricast {version}\n"


def main():
    build = Path(sys.argv[1]).resolve()
    folder = build / "tests/installed"
    shutil.rmtree(folder, ignore_errors=True)
    prefix = installed(build, folder)
    check_headers(prefix)
    (library,) = prefix.rglob("libfabricast.so")
    check_library(prefix, library)

    by_cmake = folder / "by-cmake"
    run("cmake", "-S", EXAMPLE, "-B", by_cmake, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", by_cmake)
    found = run(by_cmake / "fastest_size")

    config = {**os.environ, "PKG_CONFIG_PATH": str(library.parent / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "fabricast", env=config).split()
    by_config = folder / "by-pkg-config"
    run("c++", "-std=c++20", EXAMPLE / "fastest_size.cpp", "-o", by_config, *flags)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
    assert run(by_config, env=environment) == found
    lines = found.splitlines()
    sizes = [int(line.split()[0]) for line in lines]
    asked = run(
        prefix / "bin/fabricast",
        "bench",
        "--topology",
        "dgx-h100",
        "--nodes",
        "4",
        "--sizes",
        ",".join(f"{size}MiB" for size in sizes),
        "--format",
        "json",
    )
    table = json.loads(asked)["tables"][0]
    at = [column["name"] for column in table["columns"]].index("time_us")
    for line, row in zip(lines, table["rows"], strict=True):
        assert line.split()[2] == f"{row[at]:.1f}", (line, row)
    print(found)


if __name__ == "__main__":
    main()
