"""Certificates made on the spot by the openssl command, of elliptic curves for speed."""

import os
import pathlib
import subprocess
import tempfile


class Authority:
    """A folder with an authority and what it has signed. A context manager."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="weir-tls-")
        self.certificate = self.path("authority.pem")
        self._openssl("req", "-x509", *new_key("authority"), "-days", "2", "-subj", "/CN=authority",
                      "-out", "authority.pem")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def issue(self, name):
        """Makes NAME.pem and NAME.key, good for localhost and 127.0.0.1: their paths."""
        extensions = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        pathlib.Path(self.path("extensions")).write_text(extensions, encoding="ascii")
        self._openssl("req", *new_key(name), "-subj", f"/CN={name}", "-out", "request.pem")
        self._openssl("x509", "-req", "-in", "request.pem", "-CA", "authority.pem", "-CAkey",
                      "authority.key", "-CAcreateserial", "-days", "2", "-extfile", "extensions",
                      "-out", f"{name}.pem")
        return self.path(f"{name}.pem"), self.path(f"{name}.key")

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self._folder.name, check=True,
                       capture_output=True)


def new_key(name):
    return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            f"{name}.key")
