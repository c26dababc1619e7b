"""Paths that servers read in their own ways, asked of every host of Weir.

In front of such a server each of LOGINS is /login, and /login may be asked three times.
"""

import functools

import hosts
from scene import Attack

RULES = """
rules:
  - {id: static, key: client, limit: 1000000, window: 366d, match: {path: [/static, "/static/*"]}}
  - {id: login, key: client, limit: 3, window: 366d, match: {path: /login}}
"""
LOGINS = (b"/login;%2f..%2fx", b"/login;a%2fb", b"/login;%2f..%2fstatic", b"/static/..;/login",
          b"/static/.;/../../login", b"/static\\..\\login", b"/static%5c..%5clogin",
          b"/static/x//../../../login", b"/log%2569n", b"/login%00.jpg", b"/login%3fx")
REFUSED = (400, 403, 429)


def readings(name, scene):
    if missing := hosts.lacks(name):
        return scene.note(f"not tried: {missing} is not there")
    passed = 0
    with hosts.serving(name, RULES) as ask:
        for n in range(40):
            path = LOGINS[n % len(LOGINS)]
            status = ask(path)
            passed += status == 200
            scene.claim(status == 200 or status in REFUSED, f"{path} is answered with {status}")
        scene.claim(ask(b"/static/x") == 200, "a path that no rule has used up is denied")
    scene.claim(passed <= 3, f"{passed} of 40 pass a limit of 3")
    return scene.note(f"{passed} of 40 pass a limit of 3")


ATTACKS = [Attack(f"paths that servers read in their own ways: {name}",
                  functools.partial(readings, name))
           for name in hosts.HOSTS]
