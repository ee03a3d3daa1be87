#!/bin/sh
# probe: xf-14-fsetxattr-read-descriptor
# class: fs-meta
# needs: python3
# evidence: xattr:$EVID/meta3.txt:user.probe
# about: extended attribute set through a descriptor opened for reading
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
os.setxattr(os.open(f"{evid}/meta3.txt", os.O_RDONLY), "user.probe", b"1")
P
