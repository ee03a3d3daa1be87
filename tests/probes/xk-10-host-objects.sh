#!/bin/sh
# probe: xk-10-host-objects
# class: kernel-object
# needs: python3
# evidence: exit
# about: POSIX message queues and System V objects of the host are listed
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
seen = [l for name in ("shm", "sem", "msg") for l in open(f"/proc/sysvipc/{name}").read().splitlines()[1:]]
sys.exit(0 if any(l.split()[1] == os.environ["SHM_ID"] for l in seen) else 10)
P
