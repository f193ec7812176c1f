#!/usr/bin/env python3
"""Makes a wheel without a network from what is built, installs it into a folder of the build and
asks it a question. Usage: wheel.py BUILD"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASKED = """
import fabricast, pathlib, sys
assert pathlib.Path(fabricast.__file__).is_relative_to(sys.argv[1]), fabricast.__file__
report = fabricast.bench(topology="dgx-h100", nodes=2, sizes="1MiB")
assert report.to_pandas()["time_us"].gt(0).all()
assert fabricast.Estimator("dgx-h100", nodes=2).estimate("all_reduce", 1 << 20).us > 0
print(fabricast.__version__, report.answer)
"""


def main():
    build = Path(sys.argv[1]).resolve()
    folder = build / "tests/wheel"
    shutil.rmtree(folder, ignore_errors=True)
    offline = {**os.environ, "FABRICAST_BUILD": str(build), "PIP_NO_INDEX": "1"}
    offline["PIP_ROOT_USER_ACTION"] = "ignore"
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    make = [*pip, "wheel", "--no-build-isolation", "--no-deps", "-w", folder, ROOT]
    subprocess.run(make, check=True, env=offline)
    (wheel,) = folder.glob("fabricast-*.whl")
    site = folder / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True, env=offline)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    subprocess.run([sys.executable, "-c", ASKED, site], check=True, env=environment, cwd=folder)


if __name__ == "__main__":
    main()
