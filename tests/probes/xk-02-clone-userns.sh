#!/bin/sh
# probe: xk-02-clone-userns
# class: surface
# needs: python3
# evidence: exit
# about: clone(2) with CLONE_NEWUSER
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
sys.exit(0 if pid > 0 else 10)
P
