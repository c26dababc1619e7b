"""Tree: the files to check and their text. Finding: one complaint about a line."""

import functools
import os
import pathlib
import re
import subprocess
from typing import NamedTuple


class Finding(NamedTuple):
    path: str  # from the root of the tree
    line: int  # from 1
    rule: str  # the name that check:allow takes
    message: str  # what is wrong and what to do

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message} ({self.rule})"


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.paths = sorted(self._list())
        self.folders = {
            str(parent) for path in self.paths for parent in pathlib.PurePosixPath(path).parents
        }

    def _list(self):
        """What git would commit: tracked or new, not ignored. Without git: everything."""
        listing = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", self.root, "ls-files", "-z", "--cached",
             "--others", "--exclude-standard"], capture_output=True, text=True, check=False)
        if listing.returncode == 0 and (self.root / ".git").exists():
            paths = set(listing.stdout.split("\0")) - {""}
        else:
            paths = {
                os.path.relpath(os.path.join(folder, name), self.root)
                for folder, _, names in os.walk(self.root) for name in names
            }
            paths = {path for path in paths if not path.startswith((".git/", "build/"))}
        # A listed file may have been removed since, or be a link to nowhere.
        return [path for path in paths if (self.root / path).is_file()]

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        """The file's text; empty for a binary file, to which no rule of text applies."""
        content = (self.root / path).read_bytes()
        return "" if b"\0" in content else content.decode("utf-8", errors="replace")

    @functools.lru_cache(maxsize=None)
    def lines(self, path):
        return self.text(path).split("\n")

    def size(self, path):
        return (self.root / path).stat().st_size

    def exists(self, path):
        """Is there such a file or folder? Folders end in / or not."""
        path = os.path.normpath(path)
        return path in self.folders or path in self._path_set

    @functools.cached_property
    def _path_set(self):
        return set(self.paths)

    def matching(self, *suffixes, under=""):
        return [p for p in self.paths if p.endswith(suffixes) and p.startswith(under)]

    def is_waived(self, finding):
        """Does the line, or the one above it, allow this with a reason?"""
        lines = self.lines(finding.path)
        waiver = re.compile(r"check:allow\(" + re.escape(finding.rule) + r"\): \S")
        near = lines[max(0, finding.line - 2):finding.line]
        return any(waiver.search(line) for line in near)


def line_of(text, offset):
    """The number of the line, from 1, that holds the character at `offset`."""
    return text.count("\n", 0, offset) + 1
