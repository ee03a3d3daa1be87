#!/bin/sh
# probe: xr-01-ancestor-memory
# class: process
# needs: python3
# evidence: exit
# about: open the memory of an ancestor that is not of this command for writing (nothing is written)
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def field(pid, name): return next(l.split()[1] for l in open(f"/proc/{pid}/status") if l.startswith(name + ":"))
pid, found = os.getppid(), 10
while pid > 0:
    if field(pid, "Name") not in ("sh", "launch") and not field(pid, "Name").startswith("xr-01"):
        try: os.open(f"/proc/{pid}/mem", os.O_RDWR); found = 0
        except OSError: pass
    pid = int(field(pid, "PPid"))
sys.exit(found)
P
