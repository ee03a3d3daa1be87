#!/bin/sh
# probe: xs-07-multipath
# class: network
# needs: python3
# evidence: file:$EVID/ev-xs-07-multipath
# about: a Multipath TCP socket over IPv6
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 262); s.settimeout(2)
s.connect(("::1", int(os.environ["TCP6_PORT"]))); s.sendall((token + ":xs-07-multipath").encode()); s.recv(8)
P
