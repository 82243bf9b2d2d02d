"""What the tables need of the results, kept in docs/evaluation/results.json, so that a page can be made of some programs that
were evaluated anew and of the others as they were."""

import itertools
import json

import tables

# What the tables read of a frame, and what it is where nothing is said.
FRAME = {"own": False, "monitored": False, "inlined": False, "verdict": None, "stable": True, "input_removed": None, "rerun": None,
         "rerun_self_contained": False, "source": None, "twin": None}  # the last two: not asked
NAMED = {"function": "", "note": ""}  # of frames that were tried and did not reproduce
LEFT_OUT = ("said", "rerun_said")


def slim(frame, named):
    names = NAMED if named and frame["verdict"] not in (None, "reproduced") else {}
    words = {name: tables.without_folders(frame[name]) for name in names if frame.get(name)}
    return {name: frame[name] for name, usual in FRAME.items() if frame.get(name, usual) != usual} | words


def published(result):
    """A result without what no table shows; frames in a row that are alike are there once, with how many they are. Those of a
    stack overflow are only counted, so that they need no order."""
    words = {name: tables.without_folders(value) if isinstance(value, str) else value
             for name, value in result.items() if name not in LEFT_OUT}
    if "frames" not in result:
        return words
    overflow = result["kind"] == "stack overflow"
    frames = [slim(frame, not overflow) for frame in result["frames"]]
    if overflow:
        frames.sort(key=repr)
    alike = [{**frame, "times": len(list(group))} for frame, group in itertools.groupby(frames)]
    return words | {"frames": alike}


def expanded(result):
    if "frames" not in result:
        return result
    frames = [FRAME | NAMED | frame for frame in result["frames"] for _ in range(frame["times"])]
    return result | {"frames": frames}


def key(result):
    return result["program"], result["input"], result["mode"]


def gathered(file, results):
    """Those that are new, and of the others what the file has of them; all as the tables take them."""
    kept = json.loads(file.read_text()) if file.exists() else []
    found = {key(result): result for result in [*kept, *map(published, results)]}
    return [expanded(found[name]) for name in sorted(found)]


def write(file, results):
    lines = [json.dumps(published(result)) for result in sorted(results, key=key)]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n")
