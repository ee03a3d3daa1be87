#!/usr/bin/env python3
"""table.py BASE… < times: one row per command, in milliseconds: p50, p95, and the ratio of its p50 to that of each BASE."""
import statistics
import sys

rows = {}
for line in sys.stdin:
    name, *times = line.rstrip("\n").split("\t")
    rows[name] = sorted(int(time) / 1e6 for time in times)
middle = {name: statistics.median(times) for name, times in rows.items()}
bases = [base for base in sys.argv[1:] if base in rows]
print(f"{'':20}{'p50 ms':>10}{'p95 ms':>10}" + "".join(f"{'/ ' + base:>20}" for base in bases))
for name, times in rows.items():
    late = times[min(len(times) - 1, int(len(times) * 0.95))]
    ratios = "".join(f"{middle[name] / middle[base]:20.2f}" for base in bases)
    print(f"{name:20}{middle[name]:10.3f}{late:10.3f}{ratios}")
