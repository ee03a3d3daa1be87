#!/bin/sh
# probe: xk-07-kernel-files
# class: kernel-iface
# needs: python3
# evidence: exit
# about: open for writing: sysrq, kmsg, memory, uevent helper, drop_caches (nothing is written)
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
for at in ("/proc/sysrq-trigger", "/dev/kmsg", "/dev/mem", "/sys/kernel/uevent_helper", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/modprobe", "/sys/power/state"):
    try: os.close(os.open(at, os.O_WRONLY)); sys.exit(0)
    except OSError: pass
sys.exit(10)
P
