"""Judges what cargo-semver-checks found: the next version may be as it is named, and the changelog names each break of the
library's interface. semver.py LAST NEXT FOUND CHANGELOG..."""

import re
import sys


def breaks_of(found: str) -> dict[str, list[str]]:
    """The items that changed so that programs may no longer compile, by the folder of their crate."""
    breaks: dict[str, list[str]] = {}
    for line in found.splitlines():
        # "  field Options.shards in FILE:101", "  Endpoint::statistics, previously in file FILE:256".
        item = re.match(r"  (\S.*?),? (?:previously )?in (?:file )?(/\S+)", line)
        crate = item and re.search(r"/crates/(\w+)/", item[2])
        if item and crate:
            breaks.setdefault(crate[1], []).append(item[1])
    return breaks


def name_of(item: str) -> str:
    """The last name of a path within what was found: "field Options.shards", "a::b now takes 3 parameters"."""
    words = item.split()
    path = next((word for word in words if re.search(r"\w[.:]+\w", word)), words[-1])
    return re.split(r"[.:]+", path)[-1]


def least_version(last: str, is_breaking: bool) -> str:
    """The next version: cargo takes another first number for incompatible, or, below 1.0, another second one."""
    major, minor, patch = map(int, last.split("."))
    if not is_breaking:
        return f"{major}.{minor}.{patch + 1}"
    return f"{major + 1}.0.0" if major else f"0.{minor + 1}.0"


def main(last: str, following: str, found: str, *changelogs: str) -> None:
    if not following:
        sys.exit('semver: CHANGELOG.md lacks "The next version is X.Y.Z." below [Unreleased]')
    with open(found, encoding="utf-8") as file:
        breaks = breaks_of(file.read())
    for crate, items in sorted(breaks.items()):
        print(f"semver: {crate}: {len(items)} breaks")
    least = least_version(last, bool(breaks))
    if [int(part) for part in following.split(".")] < [int(part) for part in least.split(".")]:
        sys.exit(f"semver: the next version cannot be {following}, expected {least} at least")
    said = "".join(open(name, encoding="utf-8").read() for name in changelogs)
    # Programs depend on the library; the other crates change with it.
    names = {item: name_of(item) for item in breaks.get("thinstream", [])}
    silent = sorted(item for item, name in names.items() if not re.search(rf"\b{name}\b", said))
    if silent:
        sys.exit(f"semver: CHANGELOG.md names no change of {', '.join(silent)}")
    print(f"semver: {following} may follow {last}; the changelog names the {len(names)} breaks of thinstream")


main(*sys.argv[1:])
