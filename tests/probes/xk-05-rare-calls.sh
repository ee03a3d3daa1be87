#!/bin/sh
# probe: xk-05-rare-calls
# class: surface
# needs: python3
# evidence: exit
# about: bpf, perf_event_open, userfaultfd, fanotify_init, kexec, acct, swapon, quotactl, init_module: any that is not refused outright
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r

refused = {1, 13, 38}
free = []
for name, args in {"bpf": (321, 99, 0, 0), "perf": (298, 0, 0, 0, 0, 0), "userfaultfd": (323, 0xffff), "kexec": (246, 0, 0, 0, 0xffff),
    "acct": (163, b"/nowhere/at/all"), "swapon": (167, b"/nowhere/at/all", 0), "init_module": (175, 0, 0, 0),
    "finit_module": (313, -1, 0, 0), "reboot": (169, 0, 0, 0, 0), "settimeofday": (164, 0, 0)}.items():
    if call(*args) >= 0 or ctypes.get_errno() not in refused: free.append(name)
print(*free, file=sys.stderr)
sys.exit(0 if free else 10)
P
