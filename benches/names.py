#!/usr/bin/env python3
"""Names that are made, moved and removed in a repository: with nothing around, below the least supervisors, and in a run.

    ROUNDS=5 NAMES=20000 PINFOLD=path benches/names.py

Each row in turn within each round; wall and processor time (of everything that was started) as medians, in milliseconds, then
divided by those of `free`. As root everything is run as user BENCH_UID (60001). Needs cc and git, and a place on a real file
system: BED (the directory of the binary).
"""

import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
NAMES = os.environ.get("NAMES", "20000")
PINFOLD = os.path.abspath(os.environ["PINFOLD"])
UID = int(os.environ.get("BENCH_UID", "60001"))


def used():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def once(command, folder, home):
    before, began = used(), time.monotonic()
    account = {"user": UID, "group": UID, "extra_groups": []} if os.getuid() == 0 else {}
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, **account)
    return (time.monotonic() - began) * 1e3, (used() - before) * 1e3


def main():
    bed = tempfile.mkdtemp(dir=os.environ.get("BED", os.path.dirname(PINFOLD)), prefix="names.")
    try:
        os.chmod(bed, 0o755)
        folder, home = os.path.join(bed, "folder"), os.path.join(bed, "home")
        os.mkdir(home)
        subprocess.run(["git", "init", "-q", folder], check=True)
        names, binary = os.path.join(bed, "names"), os.path.join(bed, "pinfold")
        subprocess.run(["cc", "-O2", "-static", "-o", names, os.path.join(HERE, "names.c")], check=True)
        shutil.copy(PINFOLD, binary)
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", f"{UID}:{UID}", folder, home], check=True)
        rows = {row: [names, row, NAMES] for row in ("free", "looks", "carries")}
        rows["pinfold"] = [binary, "run", "--ask", "nobody", "--", *rows["free"]]
        taken = {row: [] for row in rows}
        for number in range(-1, ROUNDS):
            for row, command in rows.items():
                spent = once(command, folder, home)
                if number >= 0:
                    taken[row].append(spent)
        medians = {row: [statistics.median(part) for part in zip(*all)] for row, all in taken.items()}
        print(f"{'':10}{'wall':>8}{'':>7}{'processor':>11}")
        for row, (wall, processor) in medians.items():
            free = medians["free"]
            print(f"{row:10}{wall:8.0f}{wall / free[0]:7.2f}{processor:11.0f}{processor / free[1]:7.2f}")
    finally:
        shutil.rmtree(bed)


main()
