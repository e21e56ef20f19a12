"""Puts the documents together for mdBook, and checks what it made.

`site.py FOLDER COMMAND` fills FOLDER: the pages of docs/ and those at the root of the project side by side, links between them adapted, links to
sources leading to the repository, a page with the help of each subcommand of the program COMMAND, one with all fields of policies, and one
with the keys of all JSON by docs/schema.
`site.py --check FOLDER` finds links of the site that lead nowhere, and chapters without text.
"""

import json
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
ABOVE = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
REPOSITORY = tomllib.loads((ROOT / "docs/book.toml").read_text())["output"]["html"]["git-repository-url"]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def place_of(path):
    """Path of a file of the project in the site; none for a file that is not part of it."""
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
        if place is None and page.name == "SUMMARY.md":
            sys.exit(f"docs/SUMMARY.md: {target} is no page of the site")
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


def help_of(command, words):
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    run = subprocess.run([command, *words, "--help"], capture_output=True, text=True, check=True, env=environment)
    return run.stdout.rstrip()


def help_page(command):
    """Help of the command and of each subcommand, from its arguments."""
    def subcommands(text):
        commands = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
        names = re.findall(r"^  ([a-z][a-z-]*)", commands, re.MULTILINE)
        return [name for name in names if name != "help"]

    parts = ["# Options\n\nWhat `--help` prints.\n"]

    def add(words):
        text = help_of(command, words)
        parts.append(f"\n## thinstream {' '.join(words)}".rstrip() + f"\n\n```text\n{text}\n```\n")
        for name in subcommands(text):
            add([*words, name])

    add([])
    return "".join(parts)


def fields_page(command):
    """The fields of policies by topic, from the options of two commands: `send` has those of SCTP, `edge` those of TCP."""
    def fields_of(word):
        topic = None
        for part in help_of(command, [word]).split("\n\n"):
            heading, _, option = part.partition("\n")
            if found := re.match(r"(.*?)(?:, instead of th\w+ of the policy|: changes of the policy):$", heading):
                topic, part = found[1], option
            elif re.match(r"\S.*:$", heading):
                topic = None
            if topic and (found := re.match(r"\s+--([a-z-]+)(?: ?\[?=?<?([^>\]]*)>?\]?)?\n(.*)", part, re.DOTALL)):
                yield topic, found[1], found[2] or "", " ".join(found[3].split())

    table = {}
    for protocol, word in [("SCTP", "send"), ("TCP", "edge")]:
        for topic, name, value, meaning in fields_of(word):
            table.setdefault(topic, {}).setdefault(name, (value, meaning, []))[2].append(protocol)
    parts = ["# Fields of policies\n\nAll fields, as options, in plans and in scripts; what a preset is and where each value comes from is in "
             "[Policies](policies.md).\n"]
    for topic, fields in table.items():
        parts.append(f"\n## {topic}\n\n| field | value | meaning |\n|---|---|---|\n")
        for name, (value, meaning, protocols) in fields.items():
            only = f" ({protocols[0]} only)" if len(protocols) == 1 else ""
            cells = [f"`{name}`", f"`{value}`" if value else "", meaning + only]
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(parts)


def keys_page():
    """The keys of the JSON that commands write, by the schemas that tests hold it to."""
    def kind_of(schema):
        if "$ref" in schema:
            return f"as `{schema['$ref'].rpartition('/')[2]}`"
        for choice in ["anyOf", "oneOf"]:
            if choice in schema:
                return " or ".join(kind_of(one) for one in schema[choice])
        if "enum" in schema:
            return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        kinds = schema.get("type", "anything")
        kind = " or ".join(kinds) if isinstance(kinds, list) else kinds
        if "items" in schema:
            kind += f" of {kind_of(schema['items'])}"
        elif isinstance(schema.get("additionalProperties"), dict):
            kind += f" of {kind_of(schema['additionalProperties'])} by name"
        return kind

    def keys_of(schema, depth):
        inner = schema.get("items", {}) if "items" in schema else schema.get("additionalProperties")
        if isinstance(inner, dict):
            yield from keys_of(inner, depth)
        for choice in ["anyOf", "oneOf", "allOf"]:
            for one in schema.get(choice, []):
                yield from keys_of(one, depth)
        for name, part in schema.get("properties", {}).items():
            optional = "" if name in schema.get("required", []) else ", not always there"
            about = f": {part['description']}" if "description" in part else ""
            yield f"{'    ' * depth}- `{name}`: {kind_of(part)}{optional}{about}"
            yield from keys_of(part, depth + 1)

    parts = ["# Keys of the JSON\n\nWhat each command writes with `--json`, by the schemas in `docs/schema`; what it means is in [JSON](json.md).\n"]
    for path in sorted((ROOT / "docs/schema").glob("*.json")):
        schema = json.loads(path.read_text())
        parts.append(f"\n## {schema['title']}\n\n" + "\n".join(keys_of(schema, 0)) + "\n")
        for name, part in schema.get("$defs", {}).items():
            parts.append(f"\n`{name}`: {kind_of(part)}\n\n" + "\n".join(keys_of(part, 0)) + "\n")
    return "".join(parts)


def assemble(folder, command):
    source = folder / "src"
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("book.toml", "site.py"))
    shutil.copy(ROOT / "docs/book.toml", folder)
    for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ABOVE)]:
        (source / place_of(page)).write_text(adapted(page.read_text(), page))
    (source / "options.md").write_text(help_page(command))
    (source / "json-keys.md").write_text(keys_page())
    (source / "policy-fields.md").write_text(fields_page(command))
    requirements = sorted((ROOT / "docs/requirements").glob("rfc*.md"))
    below = {
        "- [The command](commands.md)\n": ["[Options](options.md)"],
        "- [JSON](json.md)\n": ["[Keys](json-keys.md)"],
        "- [Policies](policies.md)\n": ["[Fields](policy-fields.md)"],
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
    for path in (folder.parent / "src").rglob("*.md"):
        if len(path.read_text().split()) < 20:
            faults.append(f"{path.name}: a chapter without text")
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
