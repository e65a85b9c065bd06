"""Runs the compiler of the templates once for each line of its input: the arguments, separated by tabs, and before them the file
that takes what it says. Answers with its exit code. Each run is a process of its own, of an interpreter that has read the compiler."""
import os
import pathlib
import runpy
import sys

PAGES = pathlib.Path(__file__).parents[2] / "tools/pages"
sys.path.insert(0, str(PAGES))
for module in PAGES.glob("[a-z]*.py"):
    __import__(module.stem)

for line in sys.stdin:
    said, *args = line.rstrip("\n").split("\t")
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), 2)
        sys.argv[1:] = args
        runpy.run_path(str(PAGES), run_name="__main__")
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
