"""Prints the score of one package from gremlins' account: score.py PACKAGE ACCOUNT JUDGED.

JUDGED has a line for each change that may survive: package/file, mutator, the text of the changed line, the reason,
with tabs between. A line that no survivor needs any more is an error, as is a score below LEAST_SCORE.
"""

import json
import sys

LEAST_SCORE = 95.0  # percent


def judged_changes(path, package):
    reasons = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                file, mutator, text, reason = line.rstrip("\n").split("\t")
                if file.rsplit("/", 1)[0] == package:
                    reasons[file, mutator, text] = reason
    return reasons


def changes(package, account):
    with open(account, encoding="utf-8") as text:
        files = json.load(text)["files"]
    for file in files:
        name = package + "/" + file["file_name"].rsplit("/", 1)[-1]
        with open(name, encoding="utf-8") as text:
            lines = text.read().split("\n")
        for m in file["mutations"]:
            yield name, m["line"], m["type"], lines[m["line"] - 1].strip(), m["status"]


def main(package, account, judged):
    reasons = judged_changes(judged, package)
    used, killed, lived, uncovered = set(), 0, [], 0
    for file, line, mutator, text, status in changes(package, account):
        if status in ("KILLED", "TIMED OUT"):
            killed += 1
        elif status == "NOT COVERED":
            uncovered += 1
        elif status == "LIVED" and (file, mutator, text) in reasons:
            used.add((file, mutator, text))
        elif status == "LIVED":
            lived.append(f"  survived: {file}:{line} {mutator}: {text}")
    score = 100.0 * killed / max(1, killed + len(lived))
    print(f"{package}: {score:.1f} % of {killed + len(lived)} changes were noticed; {len(used)} judged, {uncovered} not executed")
    for survivor in lived:
        print(survivor)
    unused = [key for key in reasons if key not in used]
    for file, mutator, text in unused:
        print(f"  judged, but no survivor: {file} {mutator}: {text}")
    return 0 if score >= LEAST_SCORE and not unused and killed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
