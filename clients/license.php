<?php
// license.php - checks a licence with a souk store: online, and offline for a while after the last good answer.
//
//     $license = new License($baseUrl, $token, $publicKey, $stateFile);
//     [$state, $reason] = $license->check($licenseKey, $productId, License::hardwareId($productId));
//     if ($state !== 'valid') …
//
// The token has the scope `verify` and nothing else; the public key is what GET /api/v1/license/public-key says, built into your
// program. Needs PHP 8 with sodium, which it comes with. How it works: docs/checking-a-licence.md.
declare(strict_types=1);

final class License
{
    private const GRACE_S = 7 * 24 * 3600; // how long the last good answer counts while the store cannot be reached
    private const SKEW_S = 300; // clocks differ by as much
    private const TIMEOUT_S = 5;
    private const ANSWER_BYTES_MAX = 64 * 1024;
    private const COMPONENTS = '("@status" "content-digest" "content-digest";req)';

    public function __construct(private string $baseUrl, private string $token, private string $publicKey, private string $stateFile)
    {
    }

    /** This machine, for this product: other vendors' programs see another id. */
    public static function hardwareId(int $productId): string
    {
        $machine = @file_get_contents('/etc/machine-id');
        return hash('sha256', ($machine === false ? gethostname() : trim($machine)) . "\n" . $productId);
    }

    /** [state, reason]: `valid`; `refused`: the store says so; `unknown`: nobody says anything that can be trusted. */
    public function check(string $licenseKey, int $productId, string $hardwareId): array
    {
        $question = ['license_key' => $licenseKey, 'product_id' => $productId, 'hardware_id' => $hardwareId];
        $request = json_encode($question, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
        $nonce = bin2hex(random_bytes(16));
        $now = time();
        $answer = $this->ask($request, $nonce);
        if (!$answer || !str_contains($answer['params'], ";nonce=\"$nonce\"") || !$this->isSigned($request, $answer)) {
            return $this->checkOffline($request, $now);
        }
        if ($answer['status'] === 200) {
            $this->save(max($now, self::created($answer)), $request, $answer);
            return ['valid', 'online'];
        }
        @unlink($this->stateFile);
        return ['refused', json_decode($answer['body'], true)['code'] ?? ''];
    }

    /** The store's answer, if it claims to be signed; else null. */
    private function ask(string $request, string $nonce): ?array
    {
        $text = $this->post('/api/v1/license/verify', $request, [
            "Authorization: Bearer {$this->token}",
            'Content-Type: application/json',
            "Accept-Signature: sig1=();nonce=\"$nonce\"",
        ]);
        $parts = explode("\r\n\r\n", $text ?? '', 2);
        if (count($parts) !== 2) return null;
        $answer = ['body' => $parts[1]];
        foreach (explode("\r\n", $parts[0]) as $line) {
            if (preg_match('~^HTTP/\S+ (\d{3})~', $line, $m)) $answer['status'] = (int) $m[1];
            if (preg_match('~^Signature-Input: *sig1=(.+)$~i', $line, $m)) $answer['params'] = $m[1];
            if (preg_match('~^Signature: *sig1=:([A-Za-z0-9+/=]+):$~i', $line, $m)) $answer['signature'] = $m[1];
        }
        return isset($answer['status'], $answer['params'], $answer['signature']) ? $answer : null;
    }

    /**
     * Head and body of an answer that has come whole and in time, else null. PHP's own HTTP limits the time of each read, not of the
     * answer; HTTP/1.0 is answered in one piece that ends with the connection.
     */
    private function post(string $path, string $body, array $headers): ?string
    {
        $deadline = microtime(true) + self::TIMEOUT_S;
        $url = parse_url($this->baseUrl);
        $isTls = ($url['scheme'] ?? '') === 'https';
        $host = $url['host'] ?? '';
        $port = $url['port'] ?? ($isTls ? 443 : 80);
        $stream = @stream_socket_client(($isTls ? 'ssl' : 'tcp') . "://$host:$port", $code, $why, self::TIMEOUT_S);
        if (!$stream) return null;
        $head = ['POST ' . rtrim($url['path'] ?? '', '/') . "$path HTTP/1.0", "Host: $host:$port", 'Content-Length: ' . strlen($body)];
        @fwrite($stream, implode("\r\n", [...$head, ...$headers]) . "\r\n\r\n" . $body);
        $text = '';
        while (!feof($stream)) {
            $left = $deadline - microtime(true);
            if ($left <= 0 || strlen($text) > self::ANSWER_BYTES_MAX) return null;
            stream_set_timeout($stream, (int) $left, (int) (fmod($left, 1) * 1e6));
            $part = @fread($stream, 8192);
            if ($part === false) return null;
            $text .= $part;
        }
        return $text;
    }

    private static function digest(string $bytes): string
    {
        return 'sha-256=:' . base64_encode(hash('sha256', $bytes, true)) . ':';
    }

    private static function created(array $answer): int
    {
        preg_match('~;created=(\d{1,12})~', $answer['params'], $m);
        return (int) $m[1];
    }

    /** Whether the store has signed this answer to this question (RFC 9421). */
    private function isSigned(string $request, array $answer): bool
    {
        if (!preg_match('~^' . preg_quote(self::COMPONENTS) . ';created=\d~', $answer['params'])) return false;
        $key = (string) base64_decode($this->publicKey, true);
        $signature = (string) base64_decode($answer['signature'], true);
        if (strlen($key) !== SODIUM_CRYPTO_SIGN_PUBLICKEYBYTES || strlen($signature) !== SODIUM_CRYPTO_SIGN_BYTES) return false;
        $text = "\"@status\": {$answer['status']}\n\"content-digest\": " . self::digest($answer['body'])
            . "\n\"content-digest\";req: " . self::digest($request) . "\n\"@signature-params\": {$answer['params']}";
        return sodium_crypto_sign_verify_detached($signature, $text, $key);
    }

    /** The last good answer counts for a while, if it is about this question and the clock has not been turned back. */
    private function checkOffline(string $request, int $now): array
    {
        $text = @file_get_contents($this->stateFile);
        if ($text === false) return ['unknown', 'unreachable'];
        $parts = explode("\n", $text, 6);
        if (count($parts) !== 6 || !ctype_digit($parts[0]) || !ctype_digit($parts[2])) return ['unknown', 'bad_state'];
        [$seen, $question, $status, $params, $signature, $body] = $parts;
        if ($question !== $request) return ['unknown', 'other_licence'];
        $answer = ['status' => (int) $status, 'params' => $params, 'signature' => $signature, 'body' => $body];
        if ($answer['status'] !== 200 || !$this->isSigned($request, $answer)) return ['unknown', 'bad_state'];
        $created = self::created($answer);
        if ($now + self::SKEW_S < max((int) $seen, $created)) return ['unknown', 'clock'];
        if ($now > $created + self::GRACE_S) return ['unknown', 'grace_over'];
        $expires = json_decode($body, true)['data']['expires_at'];
        if ($expires !== null && $now >= (new DateTimeImmutable($expires))->getTimestamp()) return ['refused', 'license_expired'];
        $this->save(max((int) $seen, $now), $request, $answer);
        return ['valid', 'offline'];
    }

    /**
     * The kept answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.
     * Without it there is no grace; the verdict stands.
     */
    private function save(int $seen, string $request, array $answer): void
    {
        $lines = [$seen, $request, $answer['status'], $answer['params'], $answer['signature'], $answer['body']];
        if (@file_put_contents("{$this->stateFile}.new", implode("\n", $lines)) !== false) {
            @rename("{$this->stateFile}.new", $this->stateFile);
        }
    }
}

if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    if ($argc < 8 || $argc % 7 !== 1) {
        fwrite(STDERR, "usage: license.php (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...\n");
        exit(64);
    }
    foreach (array_chunk(array_slice($argv, 1), 7) as [$url, $token, $publicKey, $licenseKey, $product, $hardware, $stateFile]) {
        if ($hardware === 'auto') $hardware = License::hardwareId((int) $product);
        [$state, $reason] = (new License($url, $token, $publicKey, $stateFile))->check($licenseKey, (int) $product, $hardware);
        echo "$state $reason\n";
    }
    exit(['valid' => 0, 'refused' => 1, 'unknown' => 2][$state]);
}
