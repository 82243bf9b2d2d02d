"""Sources of other people's programs, from Debian: fetched with apt-get source (which checks them against the signed
release), unpacked with Debian's patches, kept between runs. Nothing of them is committed."""

import os
import pathlib
import subprocess
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
        (dsc,) = pathlib.Path(download).glob("*.dsc")
        # Unpacked under another name first, so that a cut-off run leaves no half of a source behind.
        half = pathlib.Path(download) / "unpacked"
        subprocess.run(["dpkg-source", "-x", dsc, half], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        half.rename(folder)
    return folder


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
    for command in (["update"], ["source", "--download-only", f"{package}={version}"]):
        result = subprocess.run(["apt-get", *options, *command], cwd=download, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            raise Missing(f"apt-get {' '.join(command)} failed:\n{result.stdout[-2000:]}")
