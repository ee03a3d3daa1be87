#!/bin/sh
# probe: xs-01-abstract
# class: sockets
# needs: python3
# evidence: file:$EVID/ev-xs-01-abstract
# about: connect to an abstract socket of the host
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket
s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect("\0" + os.environ["ABSTRACT"]); s.sendall((token + ":xs-01-abstract").encode()); s.recv(8)
P
