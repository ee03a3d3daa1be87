#!/bin/sh
# probe: xr-04-sigqueue
# class: process
# needs: python3
# evidence: file:$EVID/ev-pr-01-signal
# about: rt_sigqueueinfo(2) to an outside process
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

class Info(ctypes.Structure): _fields_ = [("signo", ctypes.c_int), ("errno", ctypes.c_int), ("code", ctypes.c_int), ("rest", ctypes.c_int * 29)]
i = Info(10, 0, -1)
if call(129, int(os.environ["VICTIM_PID"]), 10, ctypes.byref(i)) != 0: sys.exit(10)
import time; time.sleep(0.2)
P
