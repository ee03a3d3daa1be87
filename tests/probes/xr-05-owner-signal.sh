#!/bin/sh
# probe: xr-05-owner-signal
# class: process
# needs: python3
# evidence: file:$EVID/ev-pr-01-signal
# about: let the kernel signal an outside process as the owner of a pipe (F_SETOWN, F_SETSIG)
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import fcntl, time
r, w = os.pipe()
try:
    fcntl.fcntl(r, fcntl.F_SETOWN, int(os.environ["VICTIM_PID"])); fcntl.fcntl(r, 10, 10)
    fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    os.write(w, b"x")
except OSError: sys.exit(10)
time.sleep(0.2); sys.exit(0 if os.path.exists(f"{evid}/ev-pr-01-signal") else 10)
P
