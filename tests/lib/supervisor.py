#!/usr/bin/env python3
"""What systemd does for a service with a socket, for the tests: holds a listening socket, starts COMMAND with it, hears its
notifications, and stops or restarts it on demand.

    supervisor.py FOLDER COMMAND [ARGUMENT...]

Reads `start`, `stop`, `restart` or `kill` from stdin, one per line; says on stdout: `port N`, `pid N`, `notify LINE` and
`exit CODE`. The end of stdin stops the command and the supervisor. FOLDER is where the notification socket stands."""
import os
import signal
import socket
import subprocess
import sys
import threading

folder, command = sys.argv[1], sys.argv[2:]

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 0))
listener.listen(4096)

notify_path = os.path.join(folder, "notify")
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(notify_path)


def say(*words):
    print(*words, flush=True)


def hear():
    while True:
        for line in notify.recv(4096).decode().splitlines():
            say("notify", line)


def start():
    def become():
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)  # it may have been 3 before

    env = {**os.environ, "LISTEN_FDS": "1", "NOTIFY_SOCKET": notify_path}
    # The process must learn its own number before it becomes the command: a shell does that without a race.
    shell = 'LISTEN_PID=$$ exec "$@"'
    child = subprocess.Popen(["sh", "-c", shell, "sh", *command], env=env, preexec_fn=become, close_fds=False)
    say("pid", child.pid)
    return child


def end(child, how):
    if child is None:
        return
    child.send_signal(how)
    say("exit", child.wait())


threading.Thread(target=hear, daemon=True).start()
say("port", listener.getsockname()[1])
child = None
for line in sys.stdin:
    word = line.strip()
    if word in ("stop", "restart"):
        end(child, signal.SIGTERM)
        child = None
    if word == "kill":
        end(child, signal.SIGKILL)
        child = None
    if word in ("start", "restart"):
        child = start()
end(child, signal.SIGTERM)
