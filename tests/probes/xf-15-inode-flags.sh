#!/bin/sh
# probe: xf-15-inode-flags
# class: fs-meta
# needs: python3
# evidence: exit
# about: FS_IOC_SETFLAGS (no-dump) on an outside file opened for reading
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import fcntl, struct
f = os.open(f"{evid}/meta.txt", os.O_RDONLY)
flags = struct.unpack("L", fcntl.ioctl(f, 0x80086601, b"\0" * 8))[0]
try: fcntl.ioctl(f, 0x40086602, struct.pack("L", flags ^ 0x40))
except OSError: sys.exit(10)
P
