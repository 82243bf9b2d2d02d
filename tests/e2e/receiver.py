"""A server on loopback that takes crashes as those of Breakpad and Sentry do, and is strict about what it takes."""

import contextlib
import http.server
import re
import socket
import ssl
import threading
import time

HEADER = re.compile(rb'Content-Disposition: form-data; name="([!-~]+?)"(?:; filename="([\w.-]+)")?')


class Malformed(Exception):
    pass


def parse_multipart(content_type, body):
    """name -> (filename or None, content) of a form as RFC 7578 has it. Whatever is not exactly so is an error."""
    boundary = re.fullmatch(r"multipart/form-data; boundary=([\w'()+,./:=?-]{1,70})", content_type or "")
    if not boundary:
        raise Malformed(f"content type {content_type}")
    mark = b"--" + boundary[1].encode()
    if not body.startswith(mark + b"\r\n") or not body.endswith(b"\r\n" + mark + b"--\r\n"):
        raise Malformed("the form does not begin and end with its boundary")
    parts = {}
    for part in body[len(mark) + 2:-len(mark) - 6].split(b"\r\n" + mark + b"\r\n"):
        head, blank, content = part.partition(b"\r\n\r\n")
        first, *others = head.split(b"\r\n")
        found = HEADER.fullmatch(first)
        if not blank or not found or mark in content:
            raise Malformed(f"a part that begins {part[:200]}")
        name, filename = found[1].decode(), found[2] and found[2].decode()
        if others != ([b"Content-Type: application/octet-stream"] if filename else []) or name in parts:
            raise Malformed(f"headers of {name}: {others}")
        parts[name] = (filename, content)
    return parts


class Handler(http.server.BaseHTTPRequestHandler):
    """What it does is in the path: /200, /413, /redirect, /silent, /close, /endless, /early."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, text, headers=()):
        self.send_response(status)
        for name, value in (("Content-Length", str(len(text))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        what = self.path.split("?")[0].strip("/").split("/")[-1]
        if what == "early":  # as nginx does with what is too large
            self.answer(413, b"too large", [("Connection", "close")])
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self.server.received.append({"path": self.path, "headers": dict(self.headers),
                                         "parts": parse_multipart(self.headers["Content-Type"], body)})
        except Malformed as error:
            self.server.received.append({"malformed": str(error)})
            self.answer(400, str(error).encode())
            return
        if what == "redirect":
            self.answer(307, b"", [("Location", self.server.elsewhere)])
        elif what == "silent":
            time.sleep(20)
        elif what == "close":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif what == "endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"x" * 65536)
            self.close_connection = True
        else:
            self.answer(int(what), self.server.text)


@contextlib.contextmanager
def receiver(certificate=None, text=b"5f2a7c1e-0000-4000-8000-000000000001", elsewhere="http://127.0.0.1:1/"):
    """Serves while the block runs; `received` is what came in."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.received, server.text, server.elsewhere = [], text, elsewhere
    server.url = f"http://127.0.0.1:{server.server_port}"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.url = f"https://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
