"""A server within TLS that wants a secret: pages, and a git repository behind Basic. Writes down what it is told."""

import base64
import gzip
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading

CERTIFICATE, KEY, ROOT, HITS, SECRET = sys.argv[1:]
LOGIN = "Basic " + base64.b64encode(f"x-access-token:{SECRET}".encode()).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        text = b""
        while size := int(self.rfile.readline(), 16):
            text += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return text

    def say(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        body = self.body()
        with open(HITS, "a", encoding="utf-8") as hits:
            told = {"path": self.path, "headers": self.headers.items(), "body": body.decode("latin-1")[:2000]}
            hits.write(json.dumps(told) + "\n")
        if self.path.startswith("/echo"):
            return self.echo()
        if not self.path.startswith("/repo.git"):
            return self.say(200, b"ok\n")
        if self.headers.get("authorization") != LOGIN:
            return self.say(401, b"", [("WWW-Authenticate", 'Basic realm="x"')])
        return self.git(body)

    def echo(self):
        """Says back what it was told: in the head and the content, whole, in pieces, or packed."""
        text = "".join(f"{name}: {value}\n" for name, value in self.headers.items()).encode()
        told = self.headers.get("authorization", "-")
        if self.path == "/echo/packed":
            return self.say(200, gzip.compress(text), [("Content-Encoding", "gzip"), ("X-Told", told)])
        if self.path == "/echo":
            return self.say(200, text, [("X-Told", told)])
        self.send_response(200, "told " + told)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for letter in text:
            self.wfile.write(b"1\r\n" + bytes([letter]) + b"\r\n")
        self.wfile.write(f"0\r\nX-Told: {told}\r\n\r\n".encode())

    def git(self, body):
        path, _, query = self.path.partition("?")
        environment = os.environ | {
            "GIT_PROJECT_ROOT": ROOT, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "REMOTE_USER": "somebody", "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=False)
        head, _, text = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(value[:3]) for name, value in headers if name == "Status"), 200)
        self.say(status, text, [pair for pair in headers if pair[0] != "Status"])

    do_GET = do_POST = do_PUT = do_TRACE = serve


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE, KEY)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


main()
