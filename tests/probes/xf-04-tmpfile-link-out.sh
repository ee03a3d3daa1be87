#!/bin/sh
# probe: xf-04-tmpfile-link-out
# class: fs-write
# needs: python3
# evidence: file:$EVID/ev-xf-04-tmpfile-link-out
# about: O_TMPFILE in ROOT, given a name outside
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
f = os.open(root, os.O_TMPFILE | os.O_WRONLY, 0o644)
sys.exit(0 if libc.linkat(-100, f"/proc/self/fd/{f}".encode(), -100, f"{evid}/ev-xf-04-tmpfile-link-out".encode(), 0x400) == 0 else 10)
P
