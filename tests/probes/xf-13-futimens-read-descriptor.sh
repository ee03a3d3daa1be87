#!/bin/sh
# probe: xf-13-futimens-read-descriptor
# class: fs-meta
# needs: python3
# evidence: mtime:$EVID/meta2.txt:946684800
# about: times set through a descriptor opened for reading
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
os.utime(os.open(f"{evid}/meta2.txt", os.O_RDONLY), (946684800, 946684800))
P
