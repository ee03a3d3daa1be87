#!/bin/sh
# probe: xs-08-udp6
# class: network
# needs: python3
# evidence: file:$EVID/ev-xs-08-udp6
# about: a datagram over IPv6 without connect
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.settimeout(1); s.sendto((token + ":xs-08-udp6").encode(), ("::1", int(os.environ["UDP6_PORT"]))); s.recv(8)
P
