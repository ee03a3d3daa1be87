#!/bin/sh
# probe: xf-06-path-descriptor
# class: fs-magic
# needs: python3
# evidence: file:$EVID/ev-xf-06-path-descriptor
# about: create through /proc/self/fd of an O_PATH descriptor of an outside directory
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
d = os.open(evid, os.O_PATH | os.O_DIRECTORY)
open(f"/proc/self/fd/{d}/ev-xf-06-path-descriptor", "w").close()
P
