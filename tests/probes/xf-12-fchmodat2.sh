#!/bin/sh
# probe: xf-12-fchmodat2
# class: fs-meta
# needs: python3
# evidence: mode:$EVID/meta.txt:777
# about: fchmodat2(2), which old filters do not know
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r
sys.exit(0 if call(452, -100, f"{evid}/meta.txt".encode(), 0o777, 0) == 0 else 10)
P
