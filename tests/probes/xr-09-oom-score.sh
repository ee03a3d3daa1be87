#!/bin/sh
# probe: xr-09-oom-score
# class: process
# needs: python3
# evidence: exit
# about: open the out-of-memory score of an outside process for writing (nothing is written)
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
try: os.open(f"/proc/{os.environ['VICTIM_PID']}/oom_score_adj", os.O_WRONLY)
except OSError: sys.exit(10)
P
