"""Puts the documents together for mdBook, and checks what it made.

`site.py FOLDER COMMAND` fills FOLDER: the pages of docs/ and those at the root of the project side by side, links between them adapted, links to
sources leading to the repository, and a page with the help of each subcommand of the program COMMAND. `site.py --check FOLDER` finds links of
the site that lead nowhere.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

ROOT = pathlib.Path(__file__).resolve().parent.parent
ABOVE = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
REPOSITORY = tomllib.loads((ROOT / "docs/book.toml").read_text())["output"]["html"]["git-repository-url"]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def place_of(path):
    """Where a file of the project is in the site; none for a file that is not part of it."""
    if path.parent == ROOT and path.name in ABOVE:
        return pathlib.Path(path.name)
    if path == ROOT / "docs/README.md":
        # The site begins with the README of the project; that of docs lists all pages.
        return pathlib.Path("pages.md")
    if path.is_relative_to(ROOT / "docs"):
        return path.relative_to(ROOT / "docs")
    return None


def adapted(text, page):
    """The text of a page of the project with its links as the site needs them."""
    here = place_of(page).parent

    def link(found):
        target, mark, heading = found[2].partition("#")
        if not target or "://" in target:
            return found[0]
        path = (page.parent / target).resolve()
        place = place_of(path)
        if path.name == "SUMMARY.md" or place is None:
            kind = "tree" if path.is_dir() else "blob"
            return f"{found[1]}{REPOSITORY}/{kind}/main/{path.relative_to(ROOT)}{mark}{heading}{found[3]}"
        if place.name == "README.md" and page.name != "SUMMARY.md":
            # So mdBook names the page of a README.
            place = place.with_name("index.md")
        return f"{found[1]}{os.path.relpath(place, here)}{mark}{heading}{found[3]}"

    fenced = False
    lines = []
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        lines.append(line if fenced else LINK.sub(link, line))
    return "\n".join(lines) + "\n"


def help_page(command):
    """Help of the command and of each subcommand, from its arguments."""
    def help_of(words):
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
        run = subprocess.run([command, *words, "--help"], capture_output=True, text=True, check=True, env=environment)
        return run.stdout.rstrip()

    def subcommands(text):
        commands = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
        names = re.findall(r"^  ([a-z][a-z-]*)", commands, re.MULTILINE)
        return [name for name in names if name != "help"]

    parts = ["# Options\n\nWhat `--help` prints.\n"]

    def add(words):
        text = help_of(words)
        parts.append(f"\n## thinstream {' '.join(words)}".rstrip() + f"\n\n```text\n{text}\n```\n")
        for name in subcommands(text):
            add([*words, name])

    add([])
    return "".join(parts)


def assemble(folder, command):
    source = folder / "src"
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("book.toml", "site.py"))
    shutil.copy(ROOT / "docs/book.toml", folder)
    for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ABOVE)]:
        (source / place_of(page)).write_text(adapted(page.read_text(), page))
    (source / "options.md").write_text(help_page(command))
    requirements = sorted((ROOT / "docs/requirements").glob("rfc*.md"))
    below = {
        "- [The command](commands.md)\n": ["[Options](options.md)"],
        "- [Requirements of the RFCs](requirements/README.md)\n": [
            f"[RFC {page.stem[3:]}](requirements/{page.name})" for page in requirements
        ],
    }
    summary = source / "SUMMARY.md"
    text = summary.read_text()
    for chapter, parts in below.items():
        assert chapter in text, chapter
        text = text.replace(chapter, chapter + "".join(f"    - {part}\n" for part in parts))
    summary.write_text(text)


class Page(HTMLParser):
    """The names and the links of a page."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names.add(attributes.get("id"))
        wanted = {"a": "href", "img": "src"}.get(tag)
        if attributes.get(wanted):
            self.links.append(attributes[wanted])


def check(folder):
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html")}
    faults, read = [], 0
    for path, page in pages.items():
        if path.name in ["print.html", "404.html", "toc.html"]:
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            read += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = target in pages and (not parts.fragment or unquote(parts.fragment) in pages[target].names)
            if not (known or target.suffix != ".html" and target.exists()):
                faults.append(f"{path.relative_to(folder)}: {link}")
    assert read > 500, f"only {read} links"
    sys.exit("these links lead nowhere:\n" + "\n".join(faults) if faults else 0)


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(pathlib.Path(sys.argv[2]).resolve())
    else:
        assemble(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2])
