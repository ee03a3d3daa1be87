#!/bin/sh
# probe: xf-22-file-handle
# class: fs-magic
# needs: python3
# evidence: exit
# about: name_to_handle_at, then open_by_handle_at for writing
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

class Handle(ctypes.Structure): _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
h, at = Handle(bytes=128), ctypes.c_int()
if call(303, -100, f"{evid}/handle.txt".encode(), ctypes.byref(h), ctypes.byref(at), 0) != 0: sys.exit(10)
sys.exit(0 if call(304, os.open(evid, os.O_RDONLY), ctypes.byref(h), os.O_WRONLY) >= 0 else 10)
P
