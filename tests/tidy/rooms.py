#!/usr/bin/env python3
"""Draws the rooms: docs/rooms.md and docs/rooms.svg from the CMakeLists.txt of each. Fails if they
differ from what is there; UPDATE_GOLDEN=1 writes them."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANES = ["sim", "text", "models/hardware", "models/nccl", "models/engines", "models/kernels",
         "models/training", "models/experts", "models/serving", "models/io", "models/lint",
         "models/studies"]


class Room:
    def __init__(self, path, what):
        self.path, self.what = path, what
        text = (ROOT / path / "CMakeLists.txt").read_text()
        call = re.search(r"fabricast_room\((.*?)\)", text, re.S)[1]
        self.links = [word for word in call.split() if (ROOT / word).is_dir()]
        files = [f for f in sorted((ROOT / path).iterdir()) if f.suffix in (".cpp", ".hpp")]
        self.files = len(files)
        self.lines = sum(file.read_text().count("\n") for file in files)
        self.lane = next(i for i, lane in enumerate(LANES)
                         if path == lane or path.startswith(lane + "/"))
        self.name = path.removeprefix("models/").removeprefix(
            LANES[self.lane].removeprefix("models/") + "/")


def found(folder="", comment=""):
    """All rooms in the order of the build, as each stands in the CMakeLists.txt above it."""
    text = (ROOT / folder / "CMakeLists.txt").read_text()
    if "fabricast_room(" in text:
        return [Room(folder, comment)]
    out = []
    for name, what in re.findall(r"^add_subdirectory\((\w+)\)(?: +# (.*))?$", text, re.M):
        out += found(f"{folder}/{name}".strip("/"), what)
    return out


def floors(rooms):
    """How many rooms stand below each other, at most, under each."""
    out = {}
    for room in rooms:
        out[room.path] = 1 + max((out[link] for link in room.links), default=-1)
    return out


def direct(rooms):
    """Links that no chain of other links implies."""
    below = {}
    for room in rooms:
        below[room.path] = set(room.links).union(*(below[link] for link in room.links), set())
    return {room.path: [link for link in room.links
                        if not any(link in below[other] for other in room.links)]
            for room in rooms}


def picture(rooms):
    width, height, row, column = 118, 24, 44, 138
    floor = floors(rooms)
    slots = {}
    for room in rooms:
        slots.setdefault((room.lane, floor[room.path]), []).append(room)
    wide = [max([len(s) for (lane, _), s in slots.items() if lane == i] or [1])
            for i in range(len(LANES))]
    left = [20 + column * sum(wide[:i]) for i in range(len(LANES) + 1)]
    top = max(floor.values())
    at = {}
    for (lane, level), here in slots.items():
        for i, room in enumerate(here):
            spread = left[lane] + (wide[lane] - len(here)) * column / 2
            at[room.path] = (spread + i * column, 60 + (top - level) * row)
    size = (left[-1] + 20, 60 + (top + 1) * row)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]:g} {size[1]:g}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{size[0]:g}" height="{size[1]:g}" fill="white"/>']
    for i, lane in enumerate(LANES):
        fill = "#f3f6fa" if i % 2 == 0 else "#ffffff"
        out.append(f'<rect x="{left[i] - 10:g}" y="10" width="{left[i + 1] - left[i]:g}" '
                   f'height="{size[1] - 20:g}" fill="{fill}"/>')
        out.append(f'<text x="{left[i]:g}" y="32" font-weight="bold">{lane}</text>')
    for room, links in direct(rooms).items():
        x, y = at[room]
        for link in links:
            to_x, to_y = at[link]
            x1, y1, x2, y2 = x + width / 2, y + height, to_x + width / 2, to_y
            bend = (y2 - y1) / 2
            out.append(f'<path d="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} '
                       f'{x2:g} {y2:g}" fill="none" stroke="#7a8da6" stroke-width="1"/>')
    for room in rooms:
        x, y = at[room.path]
        out.append(f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="4" '
                   'fill="#dbe8f7" stroke="#46658c"/>')
        out.append(f'<text x="{x + width / 2:g}" y="{y + 16:g}" text-anchor="middle">'
                   f'{room.name}</text>')
    return "\n".join([*out, "</svg>", ""])


def page(rooms):
    out = ["# Rooms", "",
           "A folder is a room: one library with one CMakeLists.txt. It sees its own headers and",
           "those of rooms it is linked with; another include does not compile",
           "(`cmake/Room.cmake`). Rooms come in the order of the build, each linked with earlier",
           "ones only. `tests/tidy/rooms.py` makes this page.", "",
           "![Rooms, each above those it uses; links that others imply are left out](rooms.svg)",
           "",
           "| room | what it is | files | lines |", "|---|---|--:|--:|"]
    out += [f"| `{room.path}` | {room.what} | {room.files} | {room.lines} |" for room in rooms]
    out += [f"| {len(rooms)} rooms | | {sum(room.files for room in rooms)} "
            f"| {sum(room.lines for room in rooms)} |", ""]
    return "\n".join(out)


def main():
    rooms = found()
    stale = 0
    for name, text in [("rooms.md", page(rooms)), ("rooms.svg", picture(rooms))]:
        file = ROOT / "docs" / name
        if os.environ.get("UPDATE_GOLDEN"):
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            print(f"docs/{name} does not show the rooms: UPDATE_GOLDEN=1 tests/tidy/rooms.py")
            stale += 1
    print(f"{len(rooms)} rooms, {stale} stale pictures of them")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
