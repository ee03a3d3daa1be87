"""What is tried with sockets of this machine: `inside.py NAME`, with DECLARED and OTHER in the environment.

Each attack ends by itself; whether it won is seen at the other end.
"""
import ctypes
import os
import socket
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
DECLARED, OTHER = os.environ["DECLARED"], os.environ["OTHER"]
WHILE = 0.7
# Threads take turns often, so that they meet.
sys.setswitchinterval(1e-5)


def say(path, kind=socket.SOCK_STREAM):
    """What the other end says; the name of the error when there is none."""
    try:
        with socket.socket(socket.AF_UNIX, kind) as stream:
            stream.settimeout(10)
            stream.connect(path)
            return stream.recv(99).decode()
    except OSError as error:
        return error.__class__.__name__


def address(path):
    return struct.pack("=H", socket.AF_UNIX) + path.encode() + b"\0"


def during(change, attempt):
    """Makes an attempt again and again while something changes."""
    end = time.monotonic() + WHILE
    threads = [threading.Thread(target=lambda: [change() for _ in iter(lambda: time.monotonic() < end, False)])]
    threads[0].start()
    while time.monotonic() < end:
        attempt()
    threads[0].join()


def try_with(buffer, number):
    libc.connect(number, buffer, len(buffer))


# ---- ordinary uses

def uses():
    print(say(DECLARED), say(os.path.relpath(DECLARED)))
    os.symlink(DECLARED, "link")
    print(say("link"), say("./missing"), say("inside.py"))
    with socket.socket(socket.AF_UNIX) as quick:
        quick.setblocking(False)
        quick.connect(DECLARED)
        quick.setblocking(True)
        print(quick.recv(99).decode(), quick.getpeername() == DECLARED)
    with socket.socket(socket.AF_UNIX) as slow:
        slow.connect(DECLARED)
        print(slow.gettimeout(), slow.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16) == bytes(16))


def own():
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        path = f"/tmp/own-{int(kind)}"
        with socket.socket(socket.AF_UNIX, kind) as server:
            server.bind(path)
            server.listen()
            answer = threading.Thread(target=lambda: server.accept()[0].send(b"own"))
            answer.start()
            print(say(path, kind))
            answer.join()


def loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            server.accept()[0].sendall(b"by loopback")
            print(client.recv(99).decode())
    # Nobody listens: the error is the kernel's.
    print(socket.socket().connect_ex(("127.0.0.1", 1)) == 111)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
        asks.connect(("127.0.0.1", 53))
        print(asks.getpeername())


def full():
    """A server that never accepts: whoever connects waits, and nobody else does."""
    path = "/tmp/full"
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(0)
    for _ in range(80):
        threading.Thread(target=say, args=(path,), daemon=True).start()
    time.sleep(0.5)
    for i in range(20):
        with open(f"made-{i}", "w"):
            pass
    print("went on", flush=True)
    os._exit(0)


# ---- attacks

def plain():
    say(OTHER)


def sequenced():
    say(OTHER, socket.SOCK_SEQPACKET)


def by_link():
    os.symlink(OTHER, "led")
    say("led")


def by_folder_link():
    os.symlink(os.path.dirname(OTHER), "folder")
    say("folder/other")


def by_own_root():
    for way in ("/proc/self/root", f"/proc/{os.getpid()}/root", "/proc/thread-self/root"):
        say(way + OTHER)


def by_descriptor():
    fd = os.open(os.path.dirname(OTHER), os.O_PATH)
    say(f"/proc/self/fd/{fd}/other")
    say(f"/dev/fd/{fd}/other")
    held = os.open(OTHER, os.O_PATH)
    say(f"/proc/self/fd/{held}")


def by_dots():
    say(os.path.relpath(OTHER))
    say(os.path.join(DECLARED, "..", "other"))


def link_swapped():
    for name, to in (("one", DECLARED), ("two", OTHER)):
        os.symlink(to, name)

    def change():
        for name in ("one", "two"):
            os.link(name, "next", follow_symlinks=False)
            os.rename("next", "swapped")
    during(change, lambda: say("swapped"))


def memory_swapped():
    good, bad = address(DECLARED), address(OTHER)
    size = max(len(good), len(bad))
    good, bad = good.ljust(size, b"\0"), bad.ljust(size, b"\0")
    shared = ctypes.create_string_buffer(good, size)

    def change():
        ctypes.memmove(shared, bad, size)
        ctypes.memmove(shared, good, size)

    def attempt():
        with socket.socket(socket.AF_UNIX) as stream:
            try_with(shared, stream.fileno())
    during(change, attempt)


def descriptor_swapped():
    """One of the internet while it is looked at, one of this machine when it is used."""
    loop = struct.pack("=H", socket.AF_INET) + struct.pack("!H", 9) + bytes([127, 0, 0, 1]) + bytes(8)
    bad = address(OTHER)
    loop = loop.ljust(len(bad), b"\0")
    shared = ctypes.create_string_buffer(loop, len(bad))
    internet = socket.socket()
    number = os.dup(internet.fileno())

    def change():
        with socket.socket(socket.AF_UNIX) as local:
            os.dup2(local.fileno(), number)
            ctypes.memmove(shared, bad, len(bad))
            os.dup2(internet.fileno(), number)
            ctypes.memmove(shared, loop, len(bad))
    during(change, lambda: try_with(shared, number))


def from_another_directory():
    """A thread stands elsewhere than its process."""
    os.mkdir("here")
    os.symlink(DECLARED, "here/s")
    os.symlink(OTHER, "s")
    os.chdir("here")

    def elsewhere():
        CLONE_FS = 0x200
        if libc.unshare(CLONE_FS) == 0:
            os.chdir("..")
            say("s")
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()


def abstract():
    say("\0" + os.environ["ABSTRACT"])


def datagrams():
    for make in (lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]):
        try:
            make().sendto(b"datagram", os.environ["DATAGRAMS"])
        except OSError:
            pass


def mounted_over():
    """In a view of its own the declared name is another socket."""
    NEWUSER, NEWNS, BIND = 0x10000000, 0x20000, 4096
    if libc.unshare(NEWUSER | NEWNS) == 0:
        libc.mount(OTHER.encode(), DECLARED.encode(), None, BIND, None)
    say(DECLARED)


globals()[sys.argv[1]]()
