#!/usr/bin/env python3
"""web.py TOOLS: biome lints web/ and compares its format; vendored files are as published. Biome is
fetched from npm's registry into the folder TOOLS if it is not there; exit code 77, "Skipped", where
that cannot be reached or the machine is of another kind."""

import hashlib
import io
import platform
import re
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = "1.9.4"
URL = f"https://registry.npmjs.org/@biomejs/cli-linux-x64/-/cli-linux-x64-{VERSION}.tgz"
SHA256 = "3e38f0368640ac9d25cca30199a4070ee6179f330d9f0f432aac6e21020269d7"
# Files of others: by whom they are named, with their checksums.
VENDORED = [("web/vendor", "web/vendor/README.md"),
            ("tests/browser", "tests/browser/README.md")]


def biome(tools):
    program = tools / f"biome-{VERSION}"
    if program.exists():
        return program
    if platform.machine() != "x86_64":
        print(f"skipped: biome is fetched for x86_64, this is {platform.machine()}")
        sys.exit(77)
    try:
        with urllib.request.urlopen(URL, timeout=60) as answer:
            data = answer.read()
    except OSError as problem:
        print(f"skipped: {URL}: {problem}")
        sys.exit(77)
    assert hashlib.sha256(data).hexdigest() == SHA256, "biome is not the one that was published"
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        content = archive.extractfile("package/biome").read()
    tools.mkdir(parents=True, exist_ok=True)
    part = program.with_suffix(".part")
    part.write_bytes(content)
    part.chmod(0o755)
    part.rename(program)
    return program


def check_vendored():
    found = 0
    for folder, page in VENDORED:
        for name, checksum in re.findall(r"`([\w./-]+\.min\.js)`.*?`([0-9a-f]{64})`",
                                         (ROOT / page).read_text()):
            actual = hashlib.sha256((ROOT / folder / name).read_bytes()).hexdigest()
            assert actual == checksum, f"{folder}/{name} is not what {page} says"
            found += 1
    assert found == len(VENDORED), found
    return found


def main():
    print(f"{check_vendored()} vendored files are as published")
    program = biome(Path(sys.argv[1]).resolve())
    ran = subprocess.run([program, "ci", "."], cwd=ROOT / "web", check=False)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
