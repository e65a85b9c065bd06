"""The shop's own files (web/shop/assets): named by their content, kept plain and as gzip, so that the server needs no compressor
for them and browsers keep them for ever."""
import gzip
import hashlib
import re

from mistake import Mistake

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def smaller(text):
    """A style sheet without comments and the white space that means nothing."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([{};,]) ?", r"\1", text).replace(";}", "}").strip()


class Asset:
    def __init__(self, path):
        if path.suffix not in TYPES:
            raise Mistake(path, 1, f"no type is known for {path.suffix}")
        self.plain = path.read_bytes()
        if path.suffix == ".css":
            self.plain = smaller(self.plain.decode("utf-8")).encode()
        self.gzip = gzip.compress(self.plain, 9, mtime=0)
        self.hash = hashlib.sha256(self.plain).hexdigest()[:32]
        self.type = TYPES[path.suffix]
        self.name = f"{path.stem}-{self.hash[:10]}{path.suffix}"
        self.url = f"/assets/{self.name}"


def read_assets(folder):
    return {path.name: Asset(path) for path in sorted(folder.iterdir())} if folder.exists() else {}
