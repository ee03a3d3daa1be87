"""What real tools want to reach, within TLS: git, a registry for cargo, npm and pip, and a websocket beside it.

    services.py CERTIFICATE KEY ROOT

prints the ports as JSON and serves until standard input ends. In ROOT lies `repo.git`. Each registry knows one package,
`outside-tiny`, which is made here.
"""
import sys

# Beside this file lies a `secrets.py`, which is not the library's.
sys.path.pop(0)

import base64
import hashlib
import http.server
import io
import json
import os
import ssl
import subprocess
import tarfile
import threading
import zipfile

CERTIFICATE, KEY, ROOT = sys.argv[1:]
NAME, MODULE = "outside-tiny", "outside_tiny"


def archive(prefix, files):
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{prefix}/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content.encode()))
    return text.getvalue()


CRATE = archive(f"{NAME}-1.0.0", {
    "Cargo.toml": f'[package]\nname = "{NAME}"\nversion = "1.0.0"\nedition = "2021"\n',
    "src/lib.rs": "pub const FROM: &str = \"outside\";\n",
})
PACKAGE = archive("package", {
    "package.json": json.dumps({"name": NAME, "version": "1.0.0", "main": "index.js"}),
    "index.js": "module.exports = 'outside'\n",
})


def wheel():
    text, info = io.BytesIO(), f"{MODULE}-1.0.0.dist-info"
    with zipfile.ZipFile(text, "w") as zipped:
        zipped.writestr(f"{MODULE}.py", "FROM = 'outside'\n")
        zipped.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0.0\n")
        zipped.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        zipped.writestr(f"{info}/RECORD", "")
    return text.getvalue()


WHEEL = wheel()


def pages(host):
    """What is there, by path."""
    crate = {"name": NAME, "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
             "cksum": hashlib.sha256(CRATE).hexdigest()}
    file = f"{MODULE}-1.0.0-py3-none-any.whl"
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(PACKAGE).digest()).decode()
    version = {"name": NAME, "version": "1.0.0",
               "dist": {"tarball": f"https://{host}/npm/{NAME}.tgz", "integrity": integrity}}
    return {
        "/crates/config.json": json.dumps({"dl": f"https://{host}/download"}).encode(),
        f"/crates/{NAME[:2]}/{NAME[2:4]}/{NAME}": json.dumps(crate).encode(),
        f"/download/{NAME}/1.0.0/download": CRATE,
        f"/npm/{NAME}": json.dumps({"name": NAME, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode(),
        f"/npm/{NAME}.tgz": PACKAGE,
        f"/pip/{NAME}/": f'<a href="/wheels/{file}#sha256={hashlib.sha256(WHEEL).hexdigest()}">{file}</a>'.encode(),
        f"/wheels/{file}": WHEEL,
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.startswith("/repo.git"):
            return self.git(body)
        page = pages(self.headers["host"]).get(self.path)
        return self.say(404, b"") if page is None else self.say(200, page, [("Content-Type", self.kind())])

    def kind(self):
        return "text/html" if self.path.startswith("/pip/") else "application/octet-stream"

    def git(self, body):
        path, _, query = self.path.partition("?")
        environment = os.environ | {
            "GIT_PROJECT_ROOT": ROOT, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=False)
        head, _, text = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(value[:3]) for name, value in headers if name == "Status"), 200)
        self.say(status, text, [pair for pair in headers if pair[0] != "Status"])

    do_GET = do_HEAD = do_POST = serve


async def echo(stream, *_):
    async for text in stream:
        await stream.send(text)


def websockets(tls):
    """A server of websockets where there is a library for it; its ports, plain and within TLS."""
    try:
        import asyncio

        import websockets as library
    except ImportError:
        return {}
    loop = asyncio.new_event_loop()

    async def serve():
        both = [await library.serve(echo, "127.0.0.1", 0, ssl=ssl) for ssl in (None, tls)]
        return [one.sockets[0].getsockname()[1] for one in both]

    asyncio.set_event_loop(loop)
    ws, wss = loop.run_until_complete(serve())
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return {"ws": ws, "wss": wss}


def main():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE, KEY)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"https": server.server_port} | websockets(tls)), flush=True)
    sys.stdin.read()


main()
