"""The Debian packages that the recordings come from, each pinned by version and SHA-256."""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Package:
    """One pinned Debian package of architecture ``all``."""

    version: str
    sha256: str


PACKAGES = {
    "asterisk-core-sounds-en-wav": Package(
        "1.6.1-1", "2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d"
    ),
    "asterisk-core-sounds-es-wav": Package(
        "1.6.1-1", "9283a09a6d56fccdcc2bcfe86c48f0f844289cfbd46a3184d8785a6f7f569903"
    ),
    "asterisk-core-sounds-fr-wav": Package(
        "1.6.1-1", "8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e"
    ),
    "asterisk-core-sounds-it-wav": Package(
        "1.6.1-1", "5a26638089e134b8ac39363fe249c5c93c50cd8bfdc9b2499ae61ec4a35e2fcb"
    ),
    "asterisk-core-sounds-ru-wav": Package(
        "1.6.1-1", "ccbfaebfa450b7a9ddf644ae0f3d1e9017d5df7c0aebe816e946345589d38201"
    ),
    "asterisk-moh-opsound-wav": Package("2.03-1.1", "8f9d808a729d305c2d3343993f21ca5e6829e411682618dc8ea7aa8bc24a566c"),
    "asterisk-prompt-it-menardi-wav": Package(
        "1:1.4.22+mm20110907-3.1", "3094530d98f8758ac275572d59624c41f60969fef883f34f4886d144f3dfeb21"
    ),
    "fluid-soundfont-gm": Package("3.1-5.3", "6f531493ac4e4d9772fd96b2488ea1790af81c196135fbdd25997da0781fc60e"),
    "pocketsphinx-testdata": Package(
        "0.8+5prealpha+1-15", "eaeb7a01d54f20b799d1a81ef110ec544b2cb47ea006614078220737a33019f0"
    ),
    "scratch": Package("1.4.0.6~dfsg1-6.1", "36c582eb93110f64f06c4e685c41e933ccba2fa68db12f79b10bfe840b21fc10"),
    "sonic-pi-samples": Package("3.2.2~repack-8", "25f2312d2fae005e6ad0f4726b8ed3084e776006a5a132083506e960224ac79d"),
}


class ChecksumError(Exception):
    """A downloaded package is not the pinned one."""


def fetch_packages(cache: Path) -> None:
    """Download what ``cache`` lacks, check every package and unpack it to ``cache/NAME``.

    Raises:
        ChecksumError: a package's SHA-256 is not the pinned one.
        subprocess.CalledProcessError: apt-get or dpkg failed.
    """
    cache.mkdir(parents=True, exist_ok=True)
    for name, package in PACKAGES.items():
        deb = cache / f"{name}_{package.version.replace(':', '%3a')}_all.deb"
        if not deb.exists():
            subprocess.run(["apt-get", "download", "-q", f"{name}={package.version}"], cwd=cache, check=True)  # noqa: S607
        if hashlib.sha256(deb.read_bytes()).hexdigest() != package.sha256:
            raise ChecksumError(f"{deb}: the SHA-256 is not the pinned one; delete the file and run again")
        if not (cache / name).exists():
            subprocess.run(["dpkg", "-x", str(deb), str(cache / name)], check=True)  # noqa: S607
