"""Builds fabricast._fabricast by CMake, as the rest of the wheel is by setuptools. The version is
that of project() in CMakeLists.txt. FABRICAST_BUILD: a folder of a build to go on with."""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


class ByCMake(build_ext):
    def build_extension(self, ext):
        folder = Path(os.environ.get("FABRICAST_BUILD") or Path(self.build_temp).resolve())
        if not (folder / "CMakeCache.txt").exists():
            settings = {
                "CMAKE_BUILD_TYPE": "Release",
                "FABRICAST_INTERPRETER": sys.executable,
                "FABRICAST_TESTS": "OFF",
                "FABRICAST_BENCHMARKS": "OFF",
            }
            words = [f"-D{name}={value}" for name, value in settings.items()]
            subprocess.run(["cmake", "-S", ROOT, "-B", folder, *words], check=True)
        build = ["cmake", "--build", folder, "--target", "fabricast_python"]
        subprocess.run([*build, "--parallel", str(os.cpu_count())], check=True)
        (made,) = (folder / "python" / "fabricast").glob("_fabricast*.so")
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        self.copy_file(str(made), str(target))


version = re.search(r"project\(fabricast VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
setup(
    version=version,
    ext_modules=[Extension("fabricast._fabricast", sources=[])],
    cmdclass={"build_ext": ByCMake},
)
