#!/bin/sh
# probe: xk-06-terminal-discipline
# class: tty
# needs: python3
# evidence: exit
# tty: yes
# about: TIOCSETD: load a line discipline (the one that is there already)
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import fcntl, struct
try: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5423, struct.pack("i", 0))
except OSError: sys.exit(10)
P
