#!/usr/bin/env python3
"""packages.py BUILD CPACK: the Debian packages of a build. Two runs give the same bytes, lintian
finds no error, and what is installed below a root of its own works there and goes away again."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
NAMES = {"fabricast", "libfabricast0", "libfabricast-dev", "python3-fabricast"}


def run(*words, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def pack(cpack, build, folder):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1764028800"}
    # xz, which packages ship with, takes eight tenths of the time, and is not what is tested.
    quick = ("-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
    run(cpack, "-G", "DEB", *quick, "-B", folder, cwd=build, env=environment)
    return sorted(folder.glob("*.deb"))


def check_names(packages):
    found = {run("dpkg-deb", "-f", package, "Package").strip() for package in packages}
    assert found == NAMES, f"{found} are there, {NAMES} were expected"
    for package in packages:
        fields = run("dpkg-deb", "-f", package)
        assert "\nDepends:" in fields and "\nDescription:" in fields, fields


def check_same(first, second):
    for one, other in zip(first, second, strict=True):
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other)]
        assert digests[0] == digests[1], f"{one.name}: two runs, two packages"


def check_lintian(packages):
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error", *packages], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def files_below(root):
    return {path for path in root.rglob("*") if not path.is_dir() and "dpkg" not in path.parts}


def try_program(root):
    program = root / "usr/bin/fabricast"
    said = run(program, "bench", "--topology", "dgx-h100", "--sizes", "1MiB", "--format", "csv")
    assert said.splitlines()[1].startswith("all_reduce,1048576,1,8,"), said
    for page in ("fabricast.1.gz", "fabricast-bench.1.gz"):
        assert (root / "usr/share/man/man1" / page).is_file(), page
    line = (root / "usr/share/doc/fabricast/scenarios/h100-2node.yaml").read_text().splitlines()[0]
    schema = root / "usr/share/doc/fabricast/scenarios" / line.split("$schema=")[1]
    assert schema.is_file() and "/share/fabricast/" in str(schema.resolve()), schema
    for place in (
        "bash-completion/completions/fabricast",
        "zsh/vendor-completions/_fabricast",
        "fish/vendor_completions.d/fabricast.fish",
    ):
        assert (root / "usr/share" / place).is_file(), place


def try_python(root):
    code = (
        "import fabricast; r = fabricast.bench(topology='dgx-h100', sizes='1MiB'); "
        "print(r.tables['rows']['ranks'][0], fabricast.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(root / "usr/lib/python3/dist-packages")}
    said = run("/usr/bin/python3", "-c", code, env=environment)
    assert said.startswith(f"8 {root}"), said


def try_library(root, folder):
    source = folder / "consumer.cpp"
    source.write_text(
        "#include <fabricast/version.hpp>\n#include <fabricast/fabricast.hpp>\n"
        "#include <cstdio>\nint main() {\n"
        '  std::puts("linked");\n}\n'
    )
    library = next((root / "usr/lib").rglob("libfabricast.so")).parent
    program = folder / "consumer"
    run(
        "g++",
        "-std=c++20",
        source,
        f"-I{root}/usr/include",
        f"-L{library}",
        "-lfabricast",
        "-o",
        program,
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    assert run(program, env=environment) == "linked\n"


def try_installed(packages, folder):
    root = folder / "root"
    for place in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "usr"):
        (root / place).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = (
        "dpkg",
        f"--root={root}",
        "--force-depends",
        "--force-script-chrootless",
        "--log=/dev/null",
    )
    run(*dpkg, "--install", *packages)
    try_program(root)
    try_python(root)
    try_library(root, folder)
    run("find", root, "-name", "__pycache__", "-prune", "-exec", "rm", "-r", "{}", "+")
    run(*dpkg, "--purge", *NAMES)
    left = files_below(root)
    assert not left, f"left behind: {sorted(left)[:5]}"


def main():
    build, cpack = Path(sys.argv[1]).resolve(), sys.argv[2]
    if os.geteuid() != 0 or not shutil.which("lintian") or not shutil.which("dpkg-deb"):
        print("skipped: it takes root, dpkg and lintian")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first").mkdir()
        (folder / "second").mkdir()
        packages = pack(cpack, build, folder / "first")
        check_names(packages)
        check_same(packages, pack(cpack, build, folder / "second"))
        check_lintian(packages)
        try_installed(packages, folder)
        for package in packages:
            print(f"{package.name}: {package.stat().st_size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
