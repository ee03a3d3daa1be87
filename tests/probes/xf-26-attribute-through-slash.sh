#!/bin/sh
# probe: xf-26-attribute-through-slash
# class: fs-meta
# needs: python3
# evidence: xattr:$HOSTHOME:user.probe
# about: lsetxattr(2) by the name of a link with a slash behind it
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
sys.exit(0 if libc.lsetxattr(at, b"user.probe", b"1", ctypes.c_size_t(1), 0) == 0 else 10)
P
