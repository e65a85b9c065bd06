"""What stops the build: a file, a line, and what is wrong there."""


class Mistake(Exception):
    def __init__(self, path, line, what):
        super().__init__(f"{path}:{line}: {what}")
