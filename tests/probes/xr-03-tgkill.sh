#!/bin/sh
# probe: xr-03-tgkill
# class: process
# needs: python3
# evidence: file:$EVID/ev-pr-01-signal
# about: tgkill(2) of an outside thread
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

v = int(os.environ["VICTIM_PID"])
if call(234, v, v, 10) != 0: sys.exit(10)
import time; time.sleep(0.2)
P
