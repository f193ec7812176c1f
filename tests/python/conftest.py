"""Gives tests the program and the root of the tree."""

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root():
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """Runs the program with these words; what it prints. An error of it is one of the test."""
    path = os.environ["FABRICAST_PROGRAM"]

    def run(*words, code=0):
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run
