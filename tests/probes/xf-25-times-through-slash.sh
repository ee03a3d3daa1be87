#!/bin/sh
# probe: xf-25-times-through-slash
# class: fs-meta
# needs: python3
# evidence: mtime:$HOSTHOME:1
# about: utimensat(2) that follows no link, by the name of one with a slash behind it
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
home, root = os.environ["HOSTHOME"], os.environ["ROOT"]
os.symlink(home, f"{root}/l")
at = f"{root}/l/".encode()
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r
sys.exit(0 if libc.utimensat(-100, at, (ctypes.c_long * 4)(1, 0, 1, 0), 0x100) == 0 else 10)
P
