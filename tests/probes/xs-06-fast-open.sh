#!/bin/sh
# probe: xs-06-fast-open
# class: network
# needs: python3
# evidence: file:$EVID/ev-xs-06-fast-open
# about: data in the first packet: sendto(MSG_FASTOPEN) instead of connect
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket, time
s = socket.socket()
s.sendto((token + ":xs-06-fast-open").encode(), 0x20000000, ("127.0.0.1", int(os.environ["TCP4_PORT"]))); s.settimeout(1); s.recv(8)
P
