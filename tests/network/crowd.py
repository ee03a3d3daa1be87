"""Many connections at one time. Each line that is printed is a stage; the next one begins with a line of input."""
import resource
import selectors
import time

KIND, MANY = sys.argv[2], int(sys.argv[3])
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
REQUEST = b"GET /crowd HTTP/1.1\r\nHost: %s\r\n\r\n"


def stage(*words):
    print(*words, flush=True)
    sys.stdin.readline()


def address(host, port):
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]


def opened(host, port, word, many, end=None):
    """So many connections, each of which has said a word, and heard what ends like this before the next."""
    family, kind, protocol, _, to = address(host, port)
    streams = []
    for _ in range(many):
        stream = socket.socket(family, kind, protocol)
        stream.settimeout(20)
        stream.connect(to)
        stream.sendall(word)
        if end:
            said = b""
            while not said.endswith(end):
                said += stream.recv(4096)
        streams.append(stream)
    return streams


def heard(streams, end, many):
    """How many have heard what ends like this; no longer than needed once so many have."""
    waiting, all_heard, until = selectors.DefaultSelector(), 0, time.monotonic() + 30
    for stream in streams:
        waiting.register(stream, selectors.EVENT_READ, bytearray())
    while all_heard < many and time.monotonic() < until:
        for key, _ in waiting.select(1):
            try:
                data = key.fileobj.recv(4096)
            except OSError:
                data = b""
            key.data.extend(data)
            if not data or key.data.endswith(end):
                all_heard += key.data.endswith(end)
                waiting.unregister(key.fileobj)
    return all_heard


def echoes(stream):
    stream.sendall(b"again")
    return stream.recv(5) == b"again"


def works():
    return b" 200 " in ask(tcp("allowed.test", HTTP), "allowed.test")


assert works()
ROOM = int(sys.argv[4])
stage("began")
if KIND == "bytes":
    streams = opened("allowed.test", BANNER, b"word", MANY)
    stage("held", heard(streams, b"word", min(MANY, ROOM)), echoes(streams[0]))
    for stream in streams[: len(streams) // 2]:
        stream.close()
    # Whoever waited has its turn.
    later = streams[len(streams) // 2 :]
    waited = max(0, MANY - ROOM)
    stage("waited", heard(later[len(later) - waited :], b"word", waited) == waited)
    for stream in later:
        stream.close()
elif KIND == "requests":
    streams = opened("allowed.test", HTTP, REQUEST % b"allowed.test", MANY, b"hello from outside\n")
    stage("held", len(streams), True)
    for stream in streams:
        stream.sendall(REQUEST % b"allowed.test")
    stage("again", heard(streams, b"hello from outside\n", MANY) == MANY)
elif KIND == "refused":
    all_heard = 0
    while MANY > 0:
        streams = opened("203.0.113.9", HTTP, REQUEST % b"203.0.113.9", min(MANY, 500))
        all_heard += heard(streams, b")\n", len(streams))
        MANY -= len(streams)
    stage("held", all_heard, True)
print("works", works(), flush=True)
