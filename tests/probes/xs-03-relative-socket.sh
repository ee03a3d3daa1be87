#!/bin/sh
# probe: xs-03-relative-socket
# class: sockets
# needs: python3
# evidence: file:$EVID/ev-xs-03-relative-socket
# about: connect by a short relative name after changing into the directory of the socket
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket
os.chdir(os.path.dirname(os.environ["USOCK"]))
s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(os.path.basename(os.environ["USOCK"])); s.sendall((token + ":xs-03-relative-socket").encode()); s.recv(8)
P
