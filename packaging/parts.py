"""What a release is built from: crates of the command, of the live page and of the Python package, and npm packages of the pages."""

import base64
import json
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

# The manifest, its package, and the target for which it is built; none stands for that of the release.
PROGRAMS = [
    ("Cargo.toml", "thinstream-cli", None),
    ("bindings/web/Cargo.toml", "thinstream-web", "wasm32-unknown-unknown"),
    ("bindings/python/Cargo.toml", "thinstream-python", None),
]
PAGES = Path("web")


@dataclass
class Part:
    """A package of others or a crate of ours. `reference` names it and its version, `folder` has its sources."""

    reference: str
    name: str
    version: str
    licence: str | None
    folder: Path
    is_ours: bool
    hashes: list[dict[str, str]] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)


def parts(target: str) -> tuple[list[str], dict[str, Part]]:
    """References of the programs and pages, and all that they are built from, by reference. What only tests use is left out."""
    roots, known = [], {}
    for manifest, name, own in PROGRAMS:
        roots.append(add_crates(known, manifest, name, own or target))
    roots += add_packages(known)
    return roots, known


def add_crates(known: dict[str, Part], manifest: str, name: str, target: str) -> str:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target, "--manifest-path", manifest]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = {one["id"]: one for one in told["packages"]}
    nodes = {one["id"]: one for one in told["resolve"]["nodes"]}
    checksums = checksums_of_lock_file(Path(manifest).with_name("Cargo.lock"))
    start = next(one for one in told["workspace_members"] if packages[one]["name"] == name)
    waiting, seen = [start], set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        needs = [
            dependency["pkg"]
            for dependency in nodes[one]["deps"]
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
        ]
        waiting.extend(needs)
        part = crate(packages[one], checksums)
        part.needs = [crate_reference(packages[need]) for need in needs]
        # Programs may choose other features of a crate.
        if part.reference in known:
            known[part.reference].needs += part.needs
        else:
            known[part.reference] = part
    return crate_reference(packages[start])


def crate_reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def crate(package: dict, checksums: dict) -> Part:
    checksum = checksums.get((package["name"], package["version"]))
    # Before SPDX had expressions, crates wrote a stroke for "or".
    licence = package["license"].replace("/", " OR ") if package.get("license") else None
    return Part(
        crate_reference(package), package["name"], package["version"], licence, Path(package["manifest_path"]).parent,
        is_ours=not package.get("source"), hashes=[{"alg": "SHA-256", "content": checksum}] if checksum else [])  # fmt: skip


def checksums_of_lock_file(path: Path) -> dict[tuple[str, str], str | None]:
    locked = tomllib.loads(path.read_text())["package"]
    return {(one["name"], one["version"]): one.get("checksum") for one in locked}


def add_packages(known: dict[str, Part]) -> list[str]:
    """Packages that the built pages contain: those that are no tools of development. Returns what the pages name themselves."""
    locked = json.loads((PAGES / "package-lock.json").read_text())["packages"]
    used = {
        place.rpartition("node_modules/")[2]: (PAGES / place, one)
        for place, one in locked.items()
        if place and not (one.get("dev") or one.get("devOptional"))
    }
    reference = {name: f"pkg:npm/{name}@{one['version']}" for name, (_, one) in used.items()}
    for name, (folder, one) in used.items():
        digest = base64.b64decode(one["integrity"].removeprefix("sha512-")).hex()
        known[reference[name]] = Part(
            reference[name], name, one["version"], one["license"], folder, is_ours=False,
            hashes=[{"alg": "SHA-512", "content": digest}], needs=[reference[need] for need in one.get("dependencies", {})])  # fmt: skip
    return [reference[name] for name in locked[""].get("dependencies", {})]
