#!/usr/bin/env python3
"""Makes runs.csv and points.csv of this folder from larger collections of published runs.

usage: make_data.py RUNS POINTS [RUNS POINTS ...]

Each pair of files holds at least the columns that are written here (docs/validate.md says what they mean). Kept are
runs that are fit to be scored, whose source has an address and whose NCCL is not older than 2.18, the first release
that is simulated (by the date where it is not said); and of their points those with a size and a time or a bandwidth,
out of place: the first of time, algbw, busbw that is there.
"""
import csv
import os
import re
import sys

RUN_COLUMNS = ['run_id', 'collective', 'gpu_model', 'node_kind', 'net_kind', 'gpus_per_node', 'nodes', 'ranks',
               'nics_per_node', 'nic_gbps', 'nccl_version', 'env_kv', 'algorithm', 'flags', 'process_mode', 'sharp',
               'source_key', 'date']
POINT_COLUMNS = ['run_id', 'size_bytes', 'dtype', 'time_us', 'algbw_GBps', 'busbw_GBps']
VALUES = POINT_COLUMNS[3:]


OLDEST = (2, 18)
OLDEST_DATE = '2023-05'  # when that one came out


def rows(path):
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def is_simulated(run):
    """Where the release is not said, the date tells whether it can be; without one it is taken for a recent one."""
    numbers = re.match(r'(\d+)\.(\d+)', run['nccl_version'])
    if numbers:
        return tuple(int(number) for number in numbers.groups()) >= OLDEST
    year = re.match(r'\d{4}(-\d{2})?', run['date'])
    return year is None or year.group() >= OLDEST_DATE[:len(year.group())]


def write(name, columns, table):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, columns, extrasaction='ignore', lineterminator='\n')
        writer.writeheader()
        writer.writerows(table)


def main():
    files = sys.argv[1:]
    runs = [run for path in files[::2] for run in rows(path)
            if run['score'] == '1' and not run['source_key'].startswith('idx:')
            and is_simulated(run)]
    known = {run['run_id'] for run in runs}
    points = []
    for point in (point for path in files[1::2] for point in rows(path)):
        value = next((column for column in VALUES if point[column] and float(point[column]) > 0), None)
        if point['run_id'] not in known or not point['size_bytes'] or value is None:
            continue
        if point.get('dtype') == 'float':
            point['dtype'] = ''
        points.append({**point, **{column: '' for column in VALUES if column != value}})
    used = {point['run_id'] for point in points}
    write('runs.csv', RUN_COLUMNS, [run for run in runs if run['run_id'] in used])
    write('points.csv', POINT_COLUMNS, points)


if __name__ == '__main__':
    main()
