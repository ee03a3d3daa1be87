#!/bin/sh
# probe: xf-16-setxattrat
# class: fs-meta
# needs: python3
# evidence: xattr:$EVID/meta3.txt:user.probe
# about: setxattrat(2), newer than most filters
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

class Args(ctypes.Structure): _fields_ = [("value", ctypes.c_uint64), ("size", ctypes.c_uint32), ("flags", ctypes.c_uint32)]
value = ctypes.create_string_buffer(b"1")
args = Args(ctypes.addressof(value), 1, 0)
if call(463, -100, f"{evid}/meta3.txt".encode(), 0, b"user.probe", ctypes.byref(args), ctypes.sizeof(args)) == 0: sys.exit(0)
sys.exit(77 if ctypes.get_errno() == 38 and os.uname().release < "6.13" else 10)
P
