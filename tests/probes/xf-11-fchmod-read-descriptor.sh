#!/bin/sh
# probe: xf-11-fchmod-read-descriptor
# class: fs-meta
# needs: python3
# evidence: mode:$EVID/meta.txt:777
# about: fchmod on a descriptor opened for reading
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
os.fchmod(os.open(f"{evid}/meta.txt", os.O_RDONLY), 0o777)
P
