#!/bin/sh
# probe: xr-06-priority
# class: process
# needs: python3
# evidence: exit
# about: lower the priority of an outside process
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
v = int(os.environ["VICTIM_PID"])
try: before = os.getpriority(os.PRIO_PROCESS, v); os.setpriority(os.PRIO_PROCESS, v, min(before + 1, 19))
except OSError: sys.exit(10)
P
