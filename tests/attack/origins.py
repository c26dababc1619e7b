"""Real servers as origins: whatever one of them takes for /api/login, Weir denies as that.

`./dev attack --long` brings them. Each gets paths that are made at random of what servers read in
their own ways.
"""

import contextlib
import functools
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import textwrap

from requests_forged import as_forwarded, as_original
from scene import Attack
from weir_server import DEADLINE_S, free_port, wait_until

RULES = """
rules:
  - {id: login, limit: 0, window: 1h, match: {path: [/api/login, "/api/login/*"]}}
"""
MARK = "this is the login"
NOISE = (*[""] * 4, "..", "..", ".", "", "x", "x", ";", ";y", "..;", ".;", "x;", "%2e%2e", "%2E",
         "..%3b", "x%2fy", "x%2Fy", "%2f..", "..%2f", "%5c..", "\\..", "..\\", "x\\y", ";%2f..",
         ";a%2fb", "%252e%252e", "%2561", "%00", "%3f", "%23")
UPS = ("..",)
SLASHES = (*"/" * 12, "//", "%2f", "%2F", "\\", "%5c", "%252f")
ENDS = (*[""] * 6, ";x", ";%2f..%2fx", ";a%2fb", "%3bx", "%3fx", "%23x", "%00", "/x/..",
        "/", "/..")
TOMCAT = pathlib.Path("/usr/share/tomcat10")

SERVER_XML = """
<Server port="-1"><Service name="Catalina">
  <Connector port="{port}" address="127.0.0.1" maxThreads="4"/>
  <Engine name="Catalina" defaultHost="localhost">
    <Host name="localhost" appBase="webapps"/>
  </Engine>
</Service></Server>
"""
WEB_XML = """
<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="5.0">
  <servlet><servlet-name>files</servlet-name>
    <servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class></servlet>
  <servlet-mapping><servlet-name>files</servlet-name><url-pattern>/</url-pattern></servlet-mapping>
</web-app>
"""
NGINX_CONF = """
daemon off; pid {folder}/pid; error_log {folder}/log; worker_processes 1;
events {{}}
http {{
  access_log off; default_type text/plain; client_body_temp_path {folder}/a;
  proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; scgi_temp_path {folder}/d;
  uwsgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; location / {{ {place} }} }}
}}
"""
HTTPD_CONF = """
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/log
DefaultRuntimeDir {folder}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
DocumentRoot {folder}/html
AllowEncodedSlashes On
"""
NODE = """
require("node:http").createServer((request, response) => {
  if (!URL.canParse(request.url, "http://localhost")) return response.writeHead(400).end();
  const { pathname } = new URL(request.url, "http://localhost");
  const isLogin = /^\\/api\\/login(\\/|$)/.test(pathname);
  response.writeHead(isLogin ? 200 : 404).end(isLogin ? "%s" : "");
}).listen(%d, "127.0.0.1");
"""
WSGI = """
from wsgiref.simple_server import WSGIRequestHandler, make_server
WSGIRequestHandler.log_message = lambda *_: None
def login(environ, start):
    path = environ["PATH_INFO"]
    is_login = path == "/api/login" or path.startswith("/api/login/")
    start("200 OK" if is_login else "404 Not Found", [("Content-Type", "text/plain")])
    return [b"%s"] if is_login else []
make_server("127.0.0.1", %d, login).serve_forever()
"""


@contextlib.contextmanager
def running(port, *command):
    with subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: process.poll() is not None or reply_to(port, "/"),
                       f"{command[0]} answers")
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} has ended with {process.returncode}")
            yield port
        finally:
            process.terminate()


@contextlib.contextmanager
def folder_with_login(below=""):
    with tempfile.TemporaryDirectory(prefix="weir-origin-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # workers may be another user
        (folder / below / "api").mkdir(parents=True)
        (folder / below / "api" / "login").write_text(MARK, encoding="ascii")
        yield folder


@contextlib.contextmanager
def tomcat():
    port = free_port()
    with folder_with_login("webapps/ROOT") as base:
        for name in ("conf", "logs", "temp", "work", "webapps/ROOT/WEB-INF"):
            (base / name).mkdir()
        (base / "conf/server.xml").write_text(SERVER_XML.format(port=port), encoding="ascii")
        (base / "webapps/ROOT/WEB-INF/web.xml").write_text(WEB_XML, encoding="ascii")
        jars = ":".join(str(TOMCAT / "bin" / jar) for jar in ("bootstrap.jar", "tomcat-juli.jar"))
        places = {"catalina.home": TOMCAT, "catalina.base": base, "java.io.tmpdir": base / "temp"}
        with running(port, "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", jars,
                     *(f"-D{name}={place}" for name, place in places.items()),
                     "org.apache.catalina.startup.Bootstrap", "start"):
            yield port


@contextlib.contextmanager
def nginx(place):
    port = free_port()
    with folder_with_login("html") as folder:
        text = NGINX_CONF.format(folder=folder, port=port, place=place or f"root {folder}/html;")
        (folder / "nginx.conf").write_text(text, encoding="ascii")
        with running(port, "nginx", "-p", folder, "-e", folder / "log", "-c",
                     folder / "nginx.conf"):
            yield port


@contextlib.contextmanager
def nginx_before_tomcat(uri):
    with tomcat() as behind, nginx(f"proxy_pass http://127.0.0.1:{behind}{uri};") as port:
        yield port


@contextlib.contextmanager
def httpd():
    port = free_port()
    with folder_with_login("html") as folder:
        text = HTTPD_CONF.format(folder=folder, port=port)
        (folder / "httpd.conf").write_text(text, encoding="ascii")
        with running(port, "apache2", "-D", "FOREGROUND", "-f", folder / "httpd.conf"):
            yield port


@contextlib.contextmanager
def caddy():
    port = free_port()
    with folder_with_login() as folder:
        (folder / "Caddyfile").write_text(
            "{\nadmin off\n}\nhttp://127.0.0.1:%d {\nroot * %s\nfile_server\n}\n" % (port, folder),
            encoding="ascii")
        with running(port, "caddy", "run", "--adapter", "caddyfile", "--config",
                     folder / "Caddyfile"):
            yield port


def script(interpreter, flag, text):
    port = free_port()
    return running(port, interpreter, flag, textwrap.dedent(text) % (MARK, port))


ORIGINS = {
    "Tomcat": tomcat,
    "nginx": functools.partial(nginx, ""),
    "nginx before Tomcat": functools.partial(nginx_before_tomcat, "/"),
    "nginx with $uri before Tomcat": functools.partial(nginx_before_tomcat, "$uri"),
    "Apache httpd": httpd,
    "Caddy": caddy,
    "URL in Node": functools.partial(script, "node", "-e", NODE),
    "WSGI": functools.partial(script, sys.executable, "-c", WSGI),
}


def reply_to(port, path):
    """All that the origin says until it closes; empty if it does not answer."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    reply = b""
    with contextlib.suppress(OSError), \
            socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as connection:
        connection.sendall(request.encode())
        while data := connection.recv(1 << 16):
            reply += data
    return reply


def is_login(port, path):
    reply = reply_to(port, path)
    return b" 200 " in reply[:15] and MARK.encode() in reply


def spelling(prng):
    pieces = ["api", "login"]
    for _ in range(prng.randrange(4)):
        at = prng.randrange(len(pieces) + 1)
        pieces[at:at] = [prng.choice(NOISE), *prng.choice(((), UPS))]
    path = "".join(prng.choice(SLASHES) + piece for piece in pieces) + prng.choice(ENDS)
    return path if path.startswith(("/", "%2f")) else "/" + path


def reads_as_login(name, scene):
    """What the origin takes for the login, Weir denies or refuses."""
    prng = random.Random(1)
    tried, logins = 0, 0
    with ORIGINS[name]() as port, scene.connect() as weir:
        scene.claim(is_login(port, "/api/login"), "the origin has no login")
        scene.begin()  # it has taken a while to start
        while (scene.goes_on() or tried < 200) and len(scene.complaints) < 4:
            path = spelling(prng)
            tried += 1
            if not is_login(port, path):
                continue
            logins += 1
            for question in (as_forwarded(path), as_original(path)):
                status = weir.ask(question).status
                scene.claim(status in (400, 403, 429), f"{path} passes: {status}")
    scene.claim(logins > tried / 200, f"only {logins} of {tried} paths are the login")
    scene.note(f"{logins} of {tried} paths are the login")


ATTACKS = [Attack(f"paths as the origin reads them: {name}",
                  functools.partial(reads_as_login, name), config=RULES)
           for name in ORIGINS]
