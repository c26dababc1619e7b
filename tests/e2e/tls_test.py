"""TLS: what real clients agree on, the certificate's reload, and those in clear."""

import json
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import unittest

import grpc

import weir_server
from certificates import Authority
from weir_server import DEADLINE_S, Connection, Crowd, Weir, get, wait_until


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = cls.enterClassContext(Authority())
        cls.certificate, cls.key = cls.authority.issue("server")

    def serve(self, *arguments, **more):
        """In clear and under TLS. More than one core."""
        return self.enterContext(Weir(
            "--threads", "2", "--http-tls", "127.0.0.1:0", "--tls-certificate", self.certificate,
            "--tls-key", self.key, *arguments, **more))

    def context(self):
        return ssl.create_default_context(cafile=self.authority.certificate)

    def connect(self, weir):
        return Connection(weir.port_of("https"), self.context())

    def assert_serves(self, weir):
        with self.connect(weir) as connection:
            self.assertTrue(connection.check(key="others", limit=10**6, window=60)["allowed"])

    def test_curl_and_openssl_agree(self):
        weir = self.serve()
        for protocol, agreed, remaining in (("--http1.1", "1.1", 4), ("--http2", "2", 3)):
            reply = subprocess.run(
                ["curl", "-sS", protocol, "-w", " %{http_version}", "--cacert",
                 self.authority.certificate, "-d", '{"key":"curl","limit":5,"window":3600}',
                 weir.url_of("https") + "/check"],
                capture_output=True, check=True, text=True, timeout=DEADLINE_S)
            body, _, spoken = reply.stdout.rpartition(" ")
            self.assertEqual(spoken, agreed)
            self.assertEqual(json.loads(body)["remaining"], remaining)
        for version in ("-tls1_2", "-tls1_3"):
            said = self.s_client(weir, version, "-alpn", "http/1.1")
            self.assertIn("Verify return code: 0 (ok)", said)
            self.assertIn("ALPN protocol: http/1.1", said)
        self.assertIn("ALPN protocol: h2", self.s_client(weir, "-alpn", "http/1.1,h2"))
        self.assertIn("alert", self.s_client(weir, "-alpn", "smtp"))

    def s_client(self, weir, *arguments):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{weir.port_of('https')}", "-CAfile",
             self.authority.certificate, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S,
            check=False)
        return done.stdout + done.stderr

    def test_redis_clients_speak_it_too(self):
        weir = self.serve("--resp-tls", "127.0.0.1:0")
        reply = subprocess.run(
            ["redis-cli", "-h", "127.0.0.1", "-p", str(weir.port_of("rediss")), "--tls",
             "--cacert", self.authority.certificate, "PING"],
            capture_output=True, text=True, check=True, timeout=DEADLINE_S)
        self.assertEqual(reply.stdout, "PONG\n")

    def test_grpc_clients_too_on_both_ports(self):
        weir = self.serve("--grpc-tls", "127.0.0.1:0")
        authority = pathlib.Path(self.authority.certificate).read_bytes()
        for scheme in ("grpcs", "https"):
            channel = grpc.secure_channel(f"localhost:{weir.port_of(scheme)}",
                                          grpc.ssl_channel_credentials(authority))
            with channel:
                check = channel.unary_unary("/grpc.health.v1.Health/Check")
                self.assertEqual(check(b"", timeout=DEADLINE_S), b"\x08\x01")  # SERVING

    def test_a_body_of_many_records(self):
        weir = self.serve()
        checks = [{"key": f"key-{i}", "limit": 5, "window": 60, "cost": 1} for i in range(256)]
        body = json.dumps({"checks": checks}).encode()
        body += b" " * (900_000 - len(body))
        with self.connect(weir) as connection:
            reply = connection.ask(weir_server.post("/v1/check", body))
            self.assertEqual(reply.status, 200, reply.text)

    # ---- reload ----

    def shown_certificate(self, weir):
        with self.connect(weir) as connection:
            subject = dict(part[0] for part in connection.socket.getpeercert()["subject"])
        return subject["commonName"]

    def reload(self, weir, until):
        before = weir.log_length()
        weir.signal(signal.SIGHUP)
        weir.wait_for_log(until, after=before)

    def test_a_reload_under_load_drops_nothing(self):
        live = self.authority.path("live.pem"), self.authority.path("live.key")
        pairs = [self.authority.issue(name) for name in ("first", "second")]
        self.install(pairs[0], live)
        self.certificate, self.key = live
        weir = self.serve()
        self.assertEqual(self.shown_certificate(weir), "first")
        crowd = Crowd(weir.port_of("https"), context=self.context(), requests_each=20,
                      key="crowd", limit=10**6, window=60)
        with crowd:
            for turn in range(10):
                self.install(pairs[(turn + 1) % 2], live)
                self.reload(weir, "reloaded")
                crowd.wait_for_replies(100)
                wait_until(lambda name=("second", "first")[turn % 2]:
                           {self.shown_certificate(weir) for _ in range(8)} == {name},
                           "both cores show the new certificate")
        self.assertEqual(crowd.failures, [])

    def install(self, pair, live):
        for source, target in zip(pair, live):
            shutil.copy(source, target)

    def test_a_broken_key_leaves_the_certificate_and_shows_in_the_metrics(self):
        live = self.authority.path("live.pem"), self.authority.path("live.key")
        self.install(self.authority.issue("good"), live)
        self.certificate, self.key = live
        weir = self.serve()
        pathlib.Path(live[1]).write_text(
            "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n", encoding="ascii")
        self.reload(weir, "not reloaded: the one in force stays")
        self.assertIn(f"the key {live[1]} cannot be used", weir.log())
        self.assertNotIn("hunter2", weir.log())
        self.assertEqual(weir.metric("weir_config_last_reload_successful"), 0)
        self.assertEqual(self.shown_certificate(weir), "good")

        self.install(self.authority.issue("mended"), live)
        self.reload(weir, f"certificate {live[0]} reloaded")
        self.assertEqual(weir.metric("weir_config_last_reload_successful"), 1)
        wait_until(lambda: self.shown_certificate(weir) == "mended", "it is in force")

    def test_a_bad_pair_keeps_the_files_rules_out_too(self):
        config = (f"tls:\n  certificate: {self.certificate}\n  key: {{key}}\n"
                  "listen: {{http_tls: 127.0.0.1:0}}\n"
                  "rules:\n  - {{id: api, limit: {limit}, window: 365d}}\n")
        weir = self.enterContext(
            Weir("--threads", "2", config=config.format(key=self.key, limit=5)))
        weir.write_config(config.format(key=self.certificate, limit=6))
        self.reload(weir, "not reloaded")
        self.assertEqual(weir.check(key="a", rule="api")["limit"], 5)
        self.assert_serves(weir)

    def test_each_port_refuses_what_the_other_speaks(self):
        weir = self.serve()
        with self.assertRaises((ssl.SSLError, ConnectionResetError)):
            Connection(weir.port, self.context())
        with Connection(weir.port_of("https")) as connection:
            connection.send(get("/health"))
            self.assertTrue(connection.is_closed_by_server())
        wait_until(lambda: weir.metric("weir_tls_handshakes_failed_total") == 1, "it is counted")
        self.assertTrue(weir.check(key="a", limit=5, window=60)["allowed"])
        self.assert_serves(weir)

    def test_a_drain_answers_what_was_asked_and_says_goodbye(self):
        weir = self.serve()
        crowd = Crowd(weir.port_of("https"), context=self.context(), key="crowd", limit=10**6,
                      window=60)
        with crowd:
            self.assertEqual(weir.stop(), 0)
            crowd.wait_until_all_have_ended()
        self.assertEqual(crowd.failures, [])


if __name__ == "__main__":
    weir_server.main()
