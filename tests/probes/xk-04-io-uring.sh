#!/bin/sh
# probe: xk-04-io-uring
# class: surface
# needs: python3
# evidence: exit
# about: io_uring_setup(2)
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r
sys.exit(0 if call(425, 4, (ctypes.c_char * 120)()) >= 0 else 10)
P
