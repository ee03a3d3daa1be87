#!/bin/sh
# probe: xk-03-key-rings
# class: surface
# needs: python3
# evidence: exit
# about: add_key to the user's key ring, request_key, join a session key ring
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

k = call(248, b"user", b"xk-03", b"x", 1, -4)
j = call(250, 1, b"xk-03")
r = call(249, b"user", os.environ["KEY_DESC"].encode(), 0, 0)
if k > 0: call(250, 9, k, -4)
sys.exit(0 if max(k, j, r) > 0 else 10)
P
