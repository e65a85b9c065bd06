"""license.py - checks a licence with a souk store: online, and offline for a while after the last good answer.

    verdict = check(base_url, token, public_key, license_key, product_id, hardware_id(product_id), state_file)
    if not verdict.is_valid: ...

`token` has the scope `verify` and nothing else; `public_key` is what GET /api/v1/license/public-key says, built into your program.
Needs Python 3.9 and either `cryptography` or `PyNaCl`. How it works: docs/checking-a-licence.md.
"""

import base64
import hashlib
import json
import os
import re
import secrets
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import datetime

GRACE_S = 7 * 24 * 3600  # how long the last good answer counts while the store cannot be reached
SKEW_S = 300  # clocks differ by as much
TIMEOUT_S = 5
ANSWER_BYTES_MAX = 64 * 1024
COMPONENTS = '("@status" "content-digest" "content-digest";req)'


@dataclass
class Verdict:
    state: str  # valid, refused: the store says so; unknown: nobody says anything that can be trusted
    reason: str

    @property
    def is_valid(self):
        return self.state == "valid"


def hardware_id(product_id):
    """This machine, for this product: other vendors' programs see another id."""
    try:
        with open("/etc/machine-id", encoding="ascii") as f:
            machine = f.read().strip()
    except OSError:
        machine = socket.gethostname()
    return hashlib.sha256(f"{machine}\n{product_id}".encode()).hexdigest()


def check(base_url, token, public_key, license_key, product_id, hardware, state_file):
    key = base64.b64decode(public_key)
    question = {"license_key": license_key, "product_id": product_id, "hardware_id": hardware}
    request = json.dumps(question, ensure_ascii=False, separators=(",", ":")).encode()
    nonce = secrets.token_hex(16)
    now = int(time.time())
    answer = ask(base_url, token, request, nonce)
    if not answer or f';nonce="{nonce}"' not in answer["params"] or not is_signed(key, request, answer):
        return check_offline(key, request, state_file, now)
    if answer["status"] == 200:
        save(state_file, max(now, created(answer)), request, answer)
        return Verdict("valid", "online")
    if os.path.exists(state_file):
        os.remove(state_file)
    return Verdict("refused", json.loads(answer["body"])["code"])


def ask(base_url, token, request, nonce):
    """The store's answer, signed or not; None when there is none in time: the time of each read alone would not limit their number."""
    answers = []
    call = threading.Thread(target=lambda: answers.append(call_store(base_url, token, request, nonce)), daemon=True)
    call.start()
    call.join(TIMEOUT_S)
    return answers[0] if answers else None


def call_store(base_url, token, request, nonce):
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept-Signature": f'sig1=();nonce="{nonce}"',
    }
    call = urllib.request.Request(f"{base_url}/api/v1/license/verify", request, headers)
    opener = urllib.request.build_opener(NoRedirects)
    try:
        try:
            response = opener.open(call, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as e:
            response = e
        with response:
            body = response.read(ANSWER_BYTES_MAX + 1)
    except (OSError, ValueError):
        return None
    params = re.fullmatch(r"sig1=(.+)", response.headers.get("Signature-Input", ""))
    signature = re.fullmatch(r"sig1=:([A-Za-z0-9+/=]+):", response.headers.get("Signature", ""))
    if len(body) > ANSWER_BYTES_MAX or not params or not signature:
        return None
    return {"status": response.status, "params": params[1], "signature": signature[1], "body": body}


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def digest(data):
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def is_signed(key, request, answer):
    """Whether the store has signed this answer to this question (RFC 9421)."""
    if not answer["params"].startswith(COMPONENTS + ";created="):
        return False
    text = (
        f'"@status": {answer["status"]}\n"content-digest": {digest(answer["body"])}\n'
        f'"content-digest";req: {digest(request)}\n"@signature-params": {answer["params"]}'
    )
    try:
        return ed25519_fits(key, base64.b64decode(answer["signature"]), text.encode())
    except ValueError:
        return False


def ed25519_fits(key, signature, text):
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        from nacl.exceptions import BadSignatureError
        from nacl.signing import VerifyKey

        try:
            return bool(VerifyKey(key).verify(text, signature))
        except BadSignatureError:
            return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
        return True
    except InvalidSignature:
        return False


def created(answer):
    return int(re.search(r";created=(\d{1,12})", answer["params"])[1])


def check_offline(key, request, state_file, now):
    """The last good answer counts for a while, if it is about this question and the clock has not been turned back."""
    try:
        seen, answer = load(state_file, request)
    except OSError:
        return Verdict("unknown", "unreachable")
    except ValueError as e:
        return Verdict("unknown", str(e))
    if answer["status"] != 200 or not is_signed(key, request, answer):
        return Verdict("unknown", "bad_state")
    if now + SKEW_S < max(seen, created(answer)):
        return Verdict("unknown", "clock")
    if now > created(answer) + GRACE_S:
        return Verdict("unknown", "grace_over")
    expires = json.loads(answer["body"])["data"]["expires_at"]
    if expires and now >= datetime.fromisoformat(expires.replace("Z", "+00:00")).timestamp():
        return Verdict("refused", "license_expired")
    save(state_file, max(seen, now), request, answer)
    return Verdict("valid", "offline")


# The kept answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.


def save(state_file, seen, request, answer):
    head = f"{seen}\n{request.decode()}\n{answer['status']}\n{answer['params']}\n{answer['signature']}\n"
    try:
        with open(f"{state_file}.new", "wb") as f:
            f.write(head.encode() + answer["body"])
        os.replace(f"{state_file}.new", state_file)
    except OSError:
        pass  # without it there is no grace; the verdict stands


def load(state_file, request):
    with open(state_file, "rb") as f:
        parts = f.read(2 * ANSWER_BYTES_MAX).split(b"\n", 5)
    if len(parts) != 6 or not parts[0].isdigit() or not parts[2].isdigit():
        raise ValueError("bad_state")
    if parts[1] != request:
        raise ValueError("other_licence")
    answer = {"status": int(parts[2]), "params": parts[3].decode(), "signature": parts[4].decode(), "body": parts[5]}
    return int(parts[0]), answer


if __name__ == "__main__":
    if len(sys.argv) < 8 or len(sys.argv) % 7 != 1:
        sys.exit("usage: license.py (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...")
    for i in range(1, len(sys.argv), 7):
        url, token, public_key, license_key, product, hardware, state = sys.argv[i : i + 7]
        if hardware == "auto":
            hardware = hardware_id(int(product))
        result = check(url, token, public_key, license_key, int(product), hardware, state)
        print(result.state, result.reason)
    sys.exit({"valid": 0, "refused": 1, "unknown": 2}[result.state])
