#!/usr/bin/env python3
"""table.py BASE… < times: a row per command: p50 and p95 in milliseconds, page faults, p50 divided by that of each BASE."""
import statistics
import sys

rows, faults = {}, {}
for line in sys.stdin:
    name, faults[name], *times = line.rstrip("\n").split("\t")
    rows[name] = sorted(int(time) / 1e6 for time in times)
middle = {name: statistics.median(times) for name, times in rows.items()}
bases = [base for base in sys.argv[1:] if base in rows]
print(f"{'':20}{'p50 ms':>10}{'p95 ms':>10}{'faults':>10}" + "".join(f"{'/ ' + base:>20}" for base in bases))
for name, times in rows.items():
    late = times[min(len(times) - 1, int(len(times) * 0.95))]
    ratios = "".join(f"{middle[name] / middle[base]:20.2f}" for base in bases)
    print(f"{name:20}{middle[name]:10.3f}{late:10.3f}{faults[name]:>10}{ratios}")
