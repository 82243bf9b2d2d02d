#!/usr/bin/env python3
"""A crash that is sent to a server: what arrives there, what is said before, and what becomes of servers that misbehave."""

import hashlib
import random
import signal
import socket
import subprocess
import unittest

import receiver
from harness import PREFIX, TIMEOUT, Workspace, main

PROGRAM = """
struct Account { const char* name; };
__attribute__((noinline)) int First(const Account* account) { return account->name[0]; }
int main(int argc, char** argv) {
  Account account = {argc > 9 ? argv[1] : nullptr};
  return First(&account) + 1;
}
"""


class SendCase(Workspace):
    def setUp(self):
        super().setUp()
        for name in list(self.environment):
            if name.lower().endswith("_proxy"):
                del self.environment[name]
        program = self.compile_text(PROGRAM, flags=("-O2", "-g", "-recrash-version=1.2.3"))
        self.report = self.crash(program, died_of=signal.SIGSEGV)
        self.minidump = self.report.with_suffix(".dmp")

    def send(self, url, *words, expect=0, yes=True):
        return self.run_command("recrash", "send", "--url", url, *(["--yes"] if yes else []), *words, expect=expect)

    def refused(self, url, *words):
        """The error, of one sentence and perhaps the next step."""
        result = self.send(url, *words, expect=4)
        self.assertEqual(result.stdout, "")
        error = result.stderr[result.stderr.index("recrash: error: "):]
        self.assertRegex(error, r"^recrash: error: https?://[\w.]+(:\d+)?: not sent: [^\n]+\n(  [^\n]+\n)?$")
        return error


class Send(SendCase):
    def test_gives_a_server_what_it_knows_of_breakpad(self):
        with receiver.receiver() as server:
            result = self.send(f"{server.url}/api/7/minidump/200?sentry_key=k")
        self.assertEqual(result.stdout, "5f2a7c1e-0000-4000-8000-000000000001\n")
        request, = server.received
        self.assertEqual(request["path"], "/api/7/minidump/200?sentry_key=k")
        self.assertRegex(request["headers"]["User-Agent"], r"^recrash/\d")
        digest = hashlib.sha256(self.report.read_bytes()).hexdigest()
        guid = f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
        self.assertEqual(request["parts"], {
            "prod": (None, b"program"), "ver": (None, b"1.2.3"), "guid": (None, guid.encode()),
            "upload_file_minidump": (f"{self.report.stem}.dmp", self.minidump.read_bytes()),
            "recrash_report": (f"{self.report.stem}.rcr", self.report.read_bytes())})

    def test_says_what_goes_to_whom(self):
        with receiver.receiver() as server:
            said = self.send(f"{server.url}/200").stderr
        for part in (f"this goes to {server.url}:", f"{self.minidump.name}, ", f"{self.report.name}, ", "prod=program, ver=1.2.3, guid=",
                     "KiB of memory", "variables of the environment", "stacks and registers of 1 thread", "not encrypted",
                     f"sent to {server.url}"):
            self.assertIn(part, said)

    def test_takes_other_fields(self):
        with receiver.receiver() as server:
            result = self.send(f"{server.url}/200", "--field", "sentry[release]=a@1", "--field", "ver=9",
                               "--field", "note=a=b\r\n--x", "--field", "key=hunter2")
        parts = server.received[0]["parts"]
        self.assertEqual({name: parts[name][1] for name in ("sentry[release]", "ver", "note")},
                         {"sentry[release]": b"a@1", "ver": b"9", "note": b"a=b\r\n--x"})
        self.assertIn("prod=program, guid=", result.stderr)
        self.assertIn(", your sentry[release], ver, note, key\n", result.stderr)
        self.assertNotIn("hunter2", result.stderr)
        for field in ("note", "=x", 'a"; filename="b=x', "a\r\nX: y=z"):
            self.assertIn("--field needs NAME=VALUE", self.send("http://127.0.0.1:1/", "--field", field, expect=2).stderr)

    def test_sends_one_of_the_two(self):
        with receiver.receiver() as server:
            self.assertNotIn("of memory", self.send(f"{server.url}/200", "--no-report").stderr)
            self.send(f"{server.url}/200", "--no-minidump")
        self.assertEqual([{"upload_file_minidump", "recrash_report"} & set(request["parts"]) for request in server.received],
                         [{"upload_file_minidump"}, {"recrash_report"}])
        self.assertIn("leave nothing to send", self.send("http://127.0.0.1:1/", "--no-report", "--no-minidump", expect=2).stderr)

    def test_of_a_crash_without_minidump_sends_the_report_if_asked(self):
        self.minidump.unlink()
        with receiver.receiver() as server:
            refused = self.send(f"{server.url}/200", expect=4).stderr
            self.assertIn("no minidump: the report has none beside it", refused)
            self.assertIn("--no-minidump sends the report alone", refused)
            self.assertEqual(server.received, [])
            self.send(f"{server.url}/200", "--no-minidump")
        self.assertIn("recrash_report", server.received[0]["parts"])

    def test_of_a_redacted_report_sends_no_minidump(self):
        self.run_command("recrash", "redact", "--env", "-o", "clean.rcr")
        (self.path / "clean.dmp").write_bytes(self.minidump.read_bytes())
        self.assertIn("what `recrash redact` took out", self.send("http://127.0.0.1:1/", "clean.rcr", expect=4).stderr)

    def test_takes_a_bundle(self):
        self.run_command("recrash", "bundle", "-o", "bug.zip")
        with receiver.receiver() as server:
            self.send(f"{server.url}/200", "bug.zip")
        parts = server.received[0]["parts"]
        self.assertEqual(parts["recrash_report"], ("bug.rcr", self.report.read_bytes()))
        self.assertEqual(parts["upload_file_minidump"], ("bug.dmp", self.minidump.read_bytes()))


class Consent(SendCase):
    def test_is_needed(self):
        with receiver.receiver() as server:
            refused = self.send(f"{server.url}/200", yes=False, expect=2).stderr
            self.assertIn("this goes to", refused)
            self.assertIn("--yes sends it without asking", refused)
            for answer in ("n", "", "yess"):
                self.assertIn("nothing was sent", self.at_a_terminal(f"{server.url}/200", answer))
            self.assertEqual(server.received, [])
            out = self.at_a_terminal(f"{server.url}/200", "y")
            self.assertLess(out.index("this goes to"), out.index("send it? [y/N]"))
            self.assertEqual(len(server.received), 1)

    def at_a_terminal(self, url, answer):
        out = self.path / "typescript"
        subprocess.run(["script", "-qec", f"recrash send --url {url}", str(out)], input=answer.encode() + b"\n", cwd=self.path,
                       env=self.environment, stdout=subprocess.DEVNULL, timeout=TIMEOUT)
        return out.read_text(errors="replace")


class Servers(SendCase):
    def test_that_refuse_are_quoted(self):
        ways_out = {400: "", 401: "does not know the key", 403: "does not know the key", 404: "takes no crashes at the path",
                    413: "--no-minidump or --no-report", 429: "try again later", 500: "problem of its own", 503: "try again later"}
        for status, way_out in ways_out.items():
            with receiver.receiver(text=b"because \33[2J of\xe2\x80\xae this\nrecrash: sent") as server:
                error = self.refused(f"{server.url}/{status}")
            self.assertIn(f"HTTP status {status}: because \\x1b[2J of\\u202e this\n", error)
            self.assertIn(way_out, error)
            self.assertEqual(len(server.received), 1, "it is not sent again")

    def test_that_answer_oddly_harm_no_terminal(self):
        with receiver.receiver(text=b"CrashID=bp-1\33[2J\r\nmore\n") as server:
            self.assertEqual(self.send(f"{server.url}/202").stdout, "CrashID=bp-1\\x1b[2J\n")
        with receiver.receiver(text=b"") as server:
            self.assertEqual(self.send(f"{server.url}/204").stdout, "")

    def test_that_send_on_are_not_followed(self):
        with receiver.receiver() as other:
            address = f"http://ada:hunter2@localhost:{other.server_port}/200?key=hunter2"
            with receiver.receiver(elsewhere=address) as server:
                error = self.refused(f"{server.url}/redirect")
        self.assertEqual(other.received, [])
        self.assertIn(f"HTTP status 307: it sends on to http://localhost:{other.server_port}\n", error)
        self.assertNotIn("hunter2", error)
        for address in ("file:///etc/passwd", "", "\t", "//other/x"):
            with receiver.receiver(elsewhere=address) as server:
                self.assertIn("HTTP status 307: it sends on to", self.refused(f"{server.url}/redirect"))

    def test_that_are_not_there(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.assertIn("no connection: Connection refused", self.refused(f"http://127.0.0.1:{unused.getsockname()[1]}/"))
        self.assertIn("no such host", self.refused("http://nowhere.invalid/"))

    def test_that_do_not_answer(self):
        with receiver.receiver() as server:
            self.assertIn("no answer within 1 seconds", self.refused(f"{server.url}/silent", "--timeout", "1"))
            self.assertIn("closed the connection without an answer", self.refused(f"{server.url}/close"))
            self.assertIn("answers more than a mebibyte", self.refused(f"{server.url}/endless"))

    def test_that_find_it_too_large_say_so_before_all_of_it_is_sent(self):
        names = [f"large{i}" for i in range(3)]
        for name in names:
            (self.path / name).write_bytes(random.Random(name).randbytes(4_000_000))
        large = self.crash("./program", *names, died_of=signal.SIGSEGV, env={"RECRASH_OPTIONS": "files=embed"})
        self.assertGreater(large.stat().st_size, 12_000_000)
        with receiver.receiver() as server:
            self.assertRegex(self.refused(f"{server.url}/early"), "HTTP status 413|closed the connection without an answer")
            self.send(f"{server.url}/200")
        self.assertEqual(server.received[0]["parts"]["recrash_report"], (large.name, large.read_bytes()))
        self.assertNotIn("Expect", server.received[0]["headers"], "which some servers do not know")

    def test_that_speak_something_else(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            child = subprocess.Popen(["python3", "-c", "import socket, sys\ns = socket.socket(fileno=int(sys.argv[1]))\n"
                                      "while True:\n  c, _ = s.accept(); c.send(b'SSH-2.0-x\\r\\n'); c.close()",
                                      str(server.fileno())], pass_fds=[server.fileno()])
            try:
                self.refused(f"http://127.0.0.1:{port}/")
                self.refused(f"https://127.0.0.1:{port}/")
            finally:
                child.kill()
                child.wait()


class Secrets(SendCase):
    def test_of_the_url_are_shown_nowhere(self):
        with receiver.receiver() as server:
            port = server.server_port
            for path, status in (("200", 0), ("404", 4), ("redirect", 4), ("close", 4)):
                result = self.send(f"http://ada:hunter2@127.0.0.1:{port}/hunter2/{path}?key=hunter2", expect=status)
                self.assertNotIn("hunter2", result.stdout + result.stderr)
                self.assertIn(f"this goes to {server.url}:", result.stderr)
        self.assertEqual(server.received[0]["headers"]["Authorization"], "Basic YWRhOmh1bnRlcjI=")
        for url in ("ftp://ada:hunter2@127.0.0.1/", "hunter2", "https://hunter2 x/", "file:///hunter2"):
            result = self.send(url, expect=2)
            self.assertIn("--url: needed an address such as https://HOST/PATH", result.stderr)
            self.assertNotIn("hunter2", result.stderr)


class Encrypted(SendCase):
    def setUp(self):
        super().setUp()
        for name, subject in (("right", "localhost"), ("wrong", "other.example")):
            self.run_command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                             "-subj", f"/CN={subject}", "-addext", f"subjectAltName=DNS:{subject}", "-keyout", f"{name}.key",
                             "-out", f"{name}.crt")
            (self.path / f"{name}.pem").write_text((self.path / f"{name}.key").read_text() + (self.path / f"{name}.crt").read_text())

    def test_is_what_a_trusted_server_gets(self):
        with receiver.receiver(self.path / "right.pem") as server:
            said = self.send(f"{server.url}/200", "--ca-file", "right.crt").stderr
            self.assertNotIn("not encrypted", said)
            self.assertEqual(len(server.received), 1)
            error = self.refused(f"{server.url}/200")
            self.assertIn("its certificate is not trusted", error)
            self.assertIn("--ca-file", error)
        with receiver.receiver(self.path / "wrong.pem") as server:
            self.assertIn("its certificate is not trusted", self.refused(f"{server.url}/200", "--ca-file", "wrong.crt"))
            self.assertEqual(server.received, [])
            (self.path / "empty.crt").write_text("")
            self.assertIn("its certificate is not trusted", self.refused(f"{server.url}/200", "--ca-file", "empty.crt"))


class Installed(unittest.TestCase):
    def test_only_the_command_needs_libcurl(self):
        needing = set()
        for file in (file for file in PREFIX.rglob("*") if file.is_file() and file.open("rb").read(4) == b"\x7fELF"):
            if "[libcurl" in subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout:
                needing.add(str(file.relative_to(PREFIX)))
        self.assertEqual(needing, {"bin/recrash"})


class Multipart(unittest.TestCase):
    """The parser of these tests sees what is wrong."""

    GOOD = (b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x\r\nContent-Disposition: form-data; name="f"; '
            b'filename="f.dmp"\r\nContent-Type: application/octet-stream\r\n\r\n\0\r\n\1\r\n--x--\r\n')

    def test_is_parsed_strictly(self):
        parse = receiver.parse_multipart
        kind = "multipart/form-data; boundary=x"
        self.assertEqual(parse(kind, self.GOOD), {"a": (None, b"1"), "f": ("f.dmp", b"\0\r\n\1")})
        bad = [(None, self.GOOD), ("multipart/form-data", self.GOOD), (kind, b"\r\n" + self.GOOD), (kind, self.GOOD[:-2]),
               (kind, self.GOOD.replace(b"\r\n", b"\n")), (kind, self.GOOD.replace(b'name="f"', b'name="a"')),
               (kind, self.GOOD.replace(b"f.dmp", b"../f.dmp")), (kind, self.GOOD.replace(b"form-data", b"attachment")),
               (kind, self.GOOD.replace(b"Content-Type: application/octet-stream\r\n", b""))]
        for content_type, body in bad:
            with self.assertRaises(receiver.Malformed):
                parse(content_type, body)


if __name__ == "__main__":
    main()
