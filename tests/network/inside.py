"""What attacks and ordinary uses inside are made of. Ports come in the environment."""
import os
import socket
import ssl
import sys
import time

HTTP, HTTPS, BANNER = (int(os.environ[f"PORT_{name}"]) for name in ("HTTP", "HTTPS", "BANNER"))
PROXY = int(os.environ.get("HTTP_PROXY", "http://127.0.0.1:9").rsplit(":", 1)[1])
NAME = sys.argv[1]
socket.setdefaulttimeout(5)


def tcp(host, port, timeout=10):
    return socket.create_connection((host, port), timeout)


def tls(stream, server_name):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(stream, server_hostname=server_name)


def client_hello(server_name, share=None):
    """A ClientHello of TLS 1.3, without a share of a key if there is none (X25519)."""
    def sized(data, bytes_of_length=2):
        return len(data).to_bytes(bytes_of_length, "big") + data

    name, share = server_name.encode(), b"\0\x1d" + sized(share) if share else b""
    extensions = {0: sized(b"\0" + sized(name)), 10: sized(b"\0\x1d"), 13: sized(bytes.fromhex("040308040401")),
                  43: b"\2\3\4", 45: b"\1\1", 51: sized(share)}
    extensions = b"".join(kind.to_bytes(2, "big") + sized(data) for kind, data in extensions.items())
    hello = b"\3\3" + bytes(32) + sized(bytes(32), 1) + sized(bytes.fromhex("130113021303")) + b"\1\0" + sized(extensions)
    return b"\x16\3\1" + sized(b"\1" + sized(hello, 3))


def record(stream):
    """The type and the content of the next TLS record."""
    head = stream.recv(5, socket.MSG_WAITALL)
    return head[0], stream.recv(int.from_bytes(head[3:], "big"), socket.MSG_WAITALL)


def everything(stream):
    text = b""
    try:
        while data := stream.recv(65536):
            text += data
    except OSError:
        pass
    return text


def ask(stream, host, path=None, more="Connection: close\r\n", first="GET"):
    path = path or f"/{NAME}"
    stream.sendall(f"{first} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode("latin1"))
    return everything(stream)


def connect(target, more=""):
    """A tunnel through the proxy; None when it is refused."""
    stream = tcp("127.0.0.1", PROXY)
    stream.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{more}\r\n".encode("latin1"))
    said = b""
    while b"\r\n\r\n" not in said and (data := stream.recv(1)):
        said += data
    return stream if b" 200" in said.split(b"\r\n")[0] else None


def socks(kind, host, port):
    """A tunnel by SOCKS 5; None when it is refused."""
    stream = tcp("127.0.0.1", PROXY)
    stream.sendall(b"\x05\x01\x00")
    assert stream.recv(2) == b"\x05\x00"
    stream.sendall(b"\x05\x01\x00" + bytes([kind]) + host + port.to_bytes(2, "big"))
    return stream if stream.recv(10)[1:2] == b"\x00" else None


def socks_name(name, port):
    return socks(3, bytes([len(name)]) + name, port)


def udp_packet(port, data):
    return (9).to_bytes(2, "big") + port.to_bytes(2, "big") + (8 + len(data)).to_bytes(2, "big") + bytes(2) + data


def ip_packet(to, data):
    """A packet of version 4 from loopback, with what UDP needs behind it."""
    head = bytearray(b"\x45\0" + (20 + len(data)).to_bytes(2, "big") + bytes(4) + b"\x40\x11\0\0")
    head += socket.inet_aton("127.0.0.1") + socket.inet_aton(to)
    total = sum(int.from_bytes(head[i : i + 2], "big") for i in range(0, 20, 2))
    total = (total & 0xFFFF) + (total >> 16)
    head[10:12] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")
    return bytes(head) + data
