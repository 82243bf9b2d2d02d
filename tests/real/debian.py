"""Sources of other people's programs, from Debian: fetched with apt-get source (which checks them against the signed
release), unpacked with Debian's patches, kept between runs. Nothing of them is committed.

A mirror may hold only the tarball of a package: then that is built, without the patches, and said so."""

import os
import pathlib
import subprocess
import sys
import tempfile

SOURCES = "/etc/apt/sources.list.d"


class Missing(Exception):
    """Something that the machine has not; the text says what and what to do."""


def install(packages):
    """Debian's packages that a build needs, installed where that is allowed."""
    missing = [package for package in packages if subprocess.run(
        ["dpkg-query", "-W", "-f=${Status}", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True).stdout != "install ok installed"]
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        raise Missing(f"packages are missing; install them with\n  sudo {' '.join(command)}")
    result = subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise Missing(f"{' '.join(command)} failed:\n{result.stdout[-2000:]}")


def source(package, version, folder):
    """The unpacked source of a package, patched as Debian builds it, in `folder` (made when it is not there yet)."""
    folder = pathlib.Path(folder)
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory(dir=folder.parent) as download:
        fetch(package, version, pathlib.Path(download))
        # Unpacked under another name first, so that a cut-off run leaves no half of a source behind.
        half = pathlib.Path(download) / "unpacked"
        unpack(pathlib.Path(download), half)
        half.rename(folder)
    return folder


def unpack(download, folder):
    descriptions = list(download.glob("*.dsc"))
    if descriptions:
        command = ["dpkg-source", "-x", descriptions[0], folder]
    else:
        (tarball,) = download.glob("*.orig.tar.*[!c]")  # not its signature, .asc
        folder.mkdir()
        command = ["tar", "-xf", tarball, "-C", folder, "--strip-components=1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fetch(package, version, download):
    """Downloads a source package; deb-src need not be enabled on the machine, root not at hand."""
    lists = download / "lists"
    (lists / "partial").mkdir(parents=True)
    listed = download / "sources.list.d"
    listed.mkdir()
    for file in pathlib.Path(SOURCES).glob("*.sources"):
        text = file.read_text()
        (listed / file.name).write_text(text.replace("Types: deb\n", "Types: deb-src\n"))
    options = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Etc::sourceparts={listed}",
               "-o", "APT::Sandbox::User=root", "-o", f"Dir::Cache={download}/cache", "-o", "Debug::NoLocking=1"]
    run(["apt-get", *options, "update"], download)
    source_of = ["apt-get", *options, "source", "--download-only"]
    try:
        run([*source_of, f"{package}={version}"], download)
    except Missing as whole:
        for half in download.glob("*.dsc"):
            half.unlink()
        try:
            run([*source_of, "--tar-only", f"{package}={version}"], download)
        except Missing:
            raise whole from None
        print(f"{package}: the mirror has only the tarball; built without Debian's patches", file=sys.stderr)


def run(command, folder):
    result = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise Missing(f"{command[0]} {' '.join(command[-2:])} failed:\n{result.stdout[-2000:]}")
