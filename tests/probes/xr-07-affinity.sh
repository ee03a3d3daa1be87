#!/bin/sh
# probe: xr-07-affinity
# class: process
# needs: python3
# evidence: exit
# about: pin an outside process to a processor
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
v = int(os.environ["VICTIM_PID"])
try: os.sched_setaffinity(v, os.sched_getaffinity(v))
except OSError: sys.exit(10)
P
