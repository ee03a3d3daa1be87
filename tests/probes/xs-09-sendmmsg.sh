#!/bin/sh
# probe: xs-09-sendmmsg
# class: network
# needs: python3
# evidence: file:$EVID/ev-xs-09-sendmmsg
# about: sendmmsg(2), past filters that know only connect, sendto and sendmsg
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)
to = ctypes.create_string_buffer(struct.pack("=H", 2) + struct.pack("!H", int(os.environ["UDP4_PORT"])) + socket.inet_aton("127.0.0.1") + b"\0" * 8)
text = ctypes.create_string_buffer((token + ":xs-09-sendmmsg").encode())
vec = (ctypes.c_uint64 * 2)(ctypes.addressof(text), len(text) - 1)
msg = (ctypes.c_uint64 * 8)(ctypes.addressof(to), 16, ctypes.addressof(vec), 1, 0, 0, 0, 0)
if call(307, s.fileno(), ctypes.byref(msg), 1, 0) != 1: sys.exit(10)
s.recv(8)
P
