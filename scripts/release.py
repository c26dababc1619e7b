"""Makes a release: ./dev release X.Y.Z [--dry-run].

The version stands in CMakeLists.txt, and in three files that other tools read; this program sets
all of them, with the day in the changelog. Then it commits, makes the packages, sums and a list of
what they are made of (SBOM), and tags. It publishes nothing. --dry-run shows the changes alone.
"""

import datetime
import difflib
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    words = [word for word in sys.argv[1:] if word != "--dry-run"]
    if len(words) != 1 or not re.fullmatch(r"\d+\.\d+\.\d+", words[0]):
        sys.exit("usage: ./dev release X.Y.Z [--dry-run]")
    version, today = words[0], datetime.datetime.now(datetime.timezone.utc)
    changes = {name: changed(name, pattern.replace("{version}", re.escape(version)),
                             text.format(version=version, today=today))
               for name, pattern, text in PLACES}
    if f"## {version}, unreleased" not in read("CHANGELOG.md"):
        sys.exit(f"release: CHANGELOG.md has no section '## {version}, unreleased'")
    if output("git", "tag", "--list", f"v{version}"):
        sys.exit(f"release: there is a tag v{version} already; a version is published once")
    if "--dry-run" in sys.argv:
        for name, text in changes.items():
            sys.stdout.writelines(difflib.unified_diff(
                read(name).splitlines(True), text.splitlines(True), name, name, n=0))
        print(f"then: commit, ./dev package, ./dev npm, sums, SBOM of "
              f"{len(components())} components, tag v{version}")
        return
    if output("git", "status", "--porcelain"):
        sys.exit("release: the clone has changes that are not committed")
    for name, text in changes.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    run("git", "commit", "--all", "--quiet", "--message", f"Release {version}")
    make(version)
    run("git", "tag", "--annotate", f"v{version}", "--message", f"Weir {version}")
    print(f"tagged v{version}; to publish: git push --follow-tags")


# Each file that names the version: where, and what stands there afterwards.
PLACES = [
    ("CMakeLists.txt", r"project\(weir VERSION \S+", "project(weir VERSION {version}"),
    ("npm/package.json", r'"version": "[^"]+"', '"version": "{version}"'),
    ("README.md", r"^Version [^·]+ ·", "Version {version} ·"),
    ("CHANGELOG.md", r"^## \d+\.\d+\.\d+, unreleased", "## {version}, {today:%Y-%m-%d}"),
    # An entry of this version is replaced.
    ("deploy/debian/changelog", r"\A(weir \({version}\)(.|\n)*?\n -- .*\n*)?",
     "weir ({version}) unstable; urgency=medium\n\n"
     "  * /usr/share/doc/weir/CHANGELOG.md says what is in it.\n\n"
     " -- Weir maintainers <maintainers@weir.invalid>  {today:%a, %d %b %Y %H:%M:%S} +0000\n\n"),
]


def changed(name, pattern, text):
    result, times = re.subn(pattern, text, read(name), count=1, flags=re.MULTILINE)
    if times == 0:
        sys.exit(f"release: {name} does not name a version where it should: {pattern}")
    return result.rstrip("\n") + "\n"


def make(version):
    folder = ROOT / "build" / f"weir-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for verb in ("package", "npm"):
        run("./dev", verb)
    for file in [*ROOT.glob("build/package/*.deb"), ROOT / "build/release/npm/weir-limiter.tgz"]:
        shutil.copy(file, folder)
    sbom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "name": "weir", "version": version}},
            "components": components()}
    (folder / "weir.cdx.json").write_text(json.dumps(sbom, indent=1) + "\n", encoding="utf-8")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
            for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print("".join(sums), end="")


def components():
    """Debian's libraries that the packages are built from, as this machine has them."""
    listed = re.search(r"build_packages=\(([^)]*)\)", read("dev"))[1]
    names = [name for name in listed.split() if name.endswith("-dev") or name.startswith("libjs-")]
    rows = output("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\n", *names)
    return [{"type": "library", "name": name, "version": version,
             "purl": f"pkg:deb/debian/{name}@{version}?arch={architecture}"}
            for name, version, architecture in map(str.split, rows.splitlines())]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def run(*command):
    subprocess.run(command, cwd=ROOT, check=True)


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
