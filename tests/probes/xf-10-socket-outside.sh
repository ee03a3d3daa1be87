#!/bin/sh
# probe: xf-10-socket-outside
# class: fs-write
# needs: python3
# evidence: file:$EVID/ev-xf-10-socket-outside
# about: bind a socket to a name outside
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket
socket.socket(socket.AF_UNIX).bind(f"{evid}/ev-xf-10-socket-outside")
P
