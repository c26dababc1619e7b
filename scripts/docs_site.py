"""What mkdocs asks while it builds the site (./dev docs): a hook of mkdocs.yml.

Documents link to files outside of docs/, such as deploy/ and CHANGELOG.md. The site has a copy of
each, and documents among them are pages. Links to folders and to README, which the site's first
page stands for, are changed. The build fails if a link or an anchor leads nowhere, or if a page
loads anything from elsewhere. llms.txt lists the pages for programs that read them.
"""

import html.parser
import os
import pathlib
import re
import shutil

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)((?:#[^)\s]*)?)(?=\))")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FIRST_PAGE = {"README.md": "docs/index.md"}


def on_files(files, config):
    """Adds what pages link to outside docs/, and what these documents link to."""
    waiting = [file for file in files if file.src_uri.endswith(".md")]
    while waiting:
        text = pathlib.Path(waiting[0].abs_src_path).read_text(encoding="utf-8")
        for target, _ in LINK.findall(FENCE.sub("", text)):
            path = path_of(waiting[0], target)
            if (ROOT / path).is_file() and files.get_file_from_path(uri_of(path)) is None:
                files.append(File(path, str(ROOT), config.site_dir, use_directory_urls=False))
                if path.endswith(".md"):
                    waiting.append(files.get_file_from_path(path))
        waiting.pop(0)
    return files


def on_page_markdown(markdown, page, **_):
    here = os.path.dirname(page.file.src_uri)

    def change(match):
        path = path_of(page.file, match[1])
        if (ROOT / path).is_dir():
            return "#"
        return os.path.relpath(uri_of(path), here or ".") + match[2]

    parts = re.split(f"({FENCE.pattern})", markdown, flags=FENCE.flags)
    parts[::2] = [re.sub(r"\[([^\]]*)\]\(#\)(?=\W|$)", r"\1", LINK.sub(change, part))
                  for part in parts[::2]]
    return "".join(parts)


def path_of(file, target):
    """Where a link of a document leads, from the root of the repository."""
    here = os.path.relpath(file.abs_src_path, ROOT)
    path = os.path.normpath(os.path.join(os.path.dirname(here), target))
    return FIRST_PAGE.get(path, path)


def uri_of(path):
    return path.removeprefix("docs/")


def on_post_build(config):
    site = pathlib.Path(config.site_dir)
    pages = {file.relative_to(site).as_posix(): Page(file) for file in site.rglob("*.html")}
    faults = [f"{name}: {fault}" for name, page in pages.items() if name != "404.html"
              for fault in page.faults(name, pages, site)]
    if faults:
        raise PluginError("\n".join(faults))
    write_list(config, site)


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.names, self.links, self.loaded = set(), [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.names.add(attrs.get("id"))
        if tag == "a":
            self.links.append(attrs.get("href") or "")
        else:
            self.loaded.append(attrs.get("src") or (attrs.get("href") if tag == "link" else ""))

    def faults(self, name, pages, site):
        yield from (f"loads {each}" for each in self.loaded if re.match("(https?:)?//", each or ""))
        for link in self.links:
            if re.match(r"\w+:|//", link):
                continue
            target, _, anchor = link.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(name), target)) if target else name
            path = path if path != "." else "index.html"
            if not (site / path).exists():
                yield f"there is no {path}"
            elif anchor and path in pages and anchor not in pages[path].names:
                yield f"{path} has no #{anchor}"


def write_list(config, site):
    """https://llmstxt.org: a line a page, and the text of each page next to it."""
    lines = ["# Weir", "", f"> {config.site_description}"]

    def add(items, depth):
        for item in items:
            if item.is_section:
                lines.extend(["", f"{'#' * depth} {item.title}", ""])
                add(item.children, depth + 1)
            elif item.file.src_uri != "index.md":
                source = item.file.src_uri
                (site / source).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(item.file.abs_src_path, site / source)
                lines.append(f"- [{item.title}]({source})")

    add(config.extra["navigation"], 2)
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def on_nav(nav, config, **_):
    config.extra["navigation"] = nav.items
    return nav
