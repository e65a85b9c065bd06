// License.java - checks a licence with a souk store: online, and offline for a while after the last good answer.
//
//     var license = new License(baseUrl, token, publicKey, stateFile);
//     if (!license.check(licenseKey, productId, License.hardwareId(productId)).isValid()) …
//
// The token has the scope `verify` and nothing else; the public key is what GET /api/v1/license/public-key says, built into your
// program. Needs Java 17 and no libraries. How it works: docs/checking-a-licence.md.
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

public final class License {
    private static final long GRACE_S = 7 * 24 * 3600; // how long the last good answer counts while the store cannot be reached
    private static final long SKEW_S = 300; // clocks differ by as much
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int ANSWER_BYTES_MAX = 64 * 1024;
    private static final String START = "(\"@status\" \"content-digest\" \"content-digest\";req);created=";
    private static final Pattern CREATED = Pattern.compile(";created=(\\d{1,12})");
    /** What comes before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo. */
    private static final byte[] KEY_HEAD = HexFormat.of().parseHex("302a300506032b6570032100");

    /** refused: the store says so; unknown: nobody says anything that can be trusted. */
    public enum State { VALID, REFUSED, UNKNOWN }

    public record Verdict(State state, String reason) {
        public boolean isValid() {
            return state == State.VALID;
        }
    }

    private record Answer(int status, String params, String signature, byte[] body) {
        long created() {
            var m = CREATED.matcher(params);
            return m.find() ? Long.parseLong(m.group(1)) : 0;
        }

        /** A text member of a body that the store has signed. Quotes inside JSON strings are escaped, so `"key":` can only be a key. */
        Optional<String> member(String key) {
            var m = Pattern.compile("\"" + key + "\":\"([^\"]*)\"").matcher(new String(body, StandardCharsets.UTF_8));
            return m.find() ? Optional.of(m.group(1)) : Optional.empty();
        }
    }

    private final String baseUrl;
    private final String token;
    private final byte[] publicKey;
    private final Path stateFile;

    public License(String baseUrl, String token, String publicKey, Path stateFile) {
        this.baseUrl = baseUrl;
        this.token = token;
        this.publicKey = Base64.getDecoder().decode(publicKey);
        this.stateFile = stateFile;
    }

    /** This machine, for this product: other vendors' programs see another id. */
    public static String hardwareId(long productId) throws IOException {
        var file = Path.of("/etc/machine-id");
        var machine = Files.exists(file) ? Files.readString(file).strip() : InetAddress.getLocalHost().getHostName();
        return HexFormat.of().formatHex(sha256((machine + "\n" + productId).getBytes(StandardCharsets.UTF_8)));
    }

    public Verdict check(String licenseKey, long productId, String hardwareId) {
        var random = new byte[16];
        new SecureRandom().nextBytes(random);
        var nonce = HexFormat.of().formatHex(random);
        var request = "{\"license_key\":" + json(licenseKey) + ",\"product_id\":" + productId + ",\"hardware_id\":" + json(hardwareId) + "}";
        var now = Instant.now().getEpochSecond();
        var answer = ask(request, nonce).filter(a -> a.params.contains(";nonce=\"" + nonce + "\"") && isSigned(request, a));
        if (answer.isEmpty()) return checkOffline(request, now);
        if (answer.get().status == 200) {
            save(Math.max(now, answer.get().created()), request, answer.get());
            return new Verdict(State.VALID, "online");
        }
        try {
            Files.deleteIfExists(stateFile);
        } catch (IOException e) {
            // It is still refused.
        }
        return new Verdict(State.REFUSED, answer.get().member("code").orElse(""));
    }

    /** The store's answer, if it claims to be signed. */
    private Optional<Answer> ask(String request, String nonce) {
        try {
            var call = HttpRequest.newBuilder(URI.create(baseUrl + "/api/v1/license/verify")).timeout(TIMEOUT)
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .header("Accept-Signature", "sig1=();nonce=\"" + nonce + "\"")
                .POST(HttpRequest.BodyPublishers.ofString(request)).build();
            var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();
            // The request's own timeout ends with the headers; this one is for the body as well.
            var response = client.sendAsync(call, HttpResponse.BodyHandlers.ofByteArray()).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
            var params = response.headers().firstValue("Signature-Input").orElse("");
            var signature = response.headers().firstValue("Signature").orElse("");
            if (!params.startsWith("sig1=") || !signature.matches("sig1=:[A-Za-z0-9+/=]+:")) return Optional.empty();
            if (response.body().length > ANSWER_BYTES_MAX) return Optional.empty();
            return Optional.of(new Answer(response.statusCode(), params.substring(5), signature.substring(6, signature.length() - 1), response.body()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } catch (Exception e) {
            return Optional.empty();
        }
    }

    private static byte[] sha256(byte[] data) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(data);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String digest(byte[] data) {
        return "sha-256=:" + Base64.getEncoder().encodeToString(sha256(data)) + ":";
    }

    private static String json(String text) {
        var out = new StringBuilder("\"");
        for (var c : text.toCharArray()) {
            if (c < 0x20) out.append(String.format("\\u%04x", (int) c));
            else if (c == '"' || c == '\\') out.append('\\').append(c);
            else out.append(c);
        }
        return out.append('"').toString();
    }

    /** Whether the store has signed this answer to this question (RFC 9421). */
    private boolean isSigned(String request, Answer a) {
        if (!a.params.startsWith(START)) return false;
        var text = "\"@status\": " + a.status + "\n\"content-digest\": " + digest(a.body) + "\n\"content-digest\";req: "
            + digest(request.getBytes(StandardCharsets.UTF_8)) + "\n\"@signature-params\": " + a.params;
        try {
            var encoded = ByteBuffer.allocate(KEY_HEAD.length + publicKey.length).put(KEY_HEAD).put(publicKey).array();
            var verifier = Signature.getInstance("Ed25519");
            verifier.initVerify(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded)));
            verifier.update(text.getBytes(StandardCharsets.UTF_8));
            return verifier.verify(Base64.getDecoder().decode(a.signature));
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            return false;
        }
    }

    /** The last good answer counts for a while, if it is about this question and the clock has not been turned back. */
    private Verdict checkOffline(String request, long now) {
        String[] lines;
        try {
            lines = Files.readString(stateFile).split("\n", 6);
        } catch (IOException e) {
            return new Verdict(State.UNKNOWN, "unreachable");
        }
        if (lines.length != 6 || !lines[0].matches("\\d{1,12}") || !lines[2].matches("\\d{3}")) return new Verdict(State.UNKNOWN, "bad_state");
        if (!lines[1].equals(request)) return new Verdict(State.UNKNOWN, "other_licence");
        var seen = Long.parseLong(lines[0]);
        var a = new Answer(Integer.parseInt(lines[2]), lines[3], lines[4], lines[5].getBytes(StandardCharsets.UTF_8));
        if (a.status != 200 || !isSigned(request, a)) return new Verdict(State.UNKNOWN, "bad_state");
        if (now + SKEW_S < Math.max(seen, a.created())) return new Verdict(State.UNKNOWN, "clock");
        if (now > a.created() + GRACE_S) return new Verdict(State.UNKNOWN, "grace_over");
        if (a.member("expires_at").filter(t -> now >= Instant.parse(t).getEpochSecond()).isPresent()) return new Verdict(State.REFUSED, "license_expired");
        save(Math.max(seen, now), request, a);
        return new Verdict(State.VALID, "offline");
    }

    /** The kept answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body. */
    private void save(long seen, String request, Answer a) {
        var lines = new String[] {Long.toString(seen), request, Integer.toString(a.status), a.params, a.signature, new String(a.body, StandardCharsets.UTF_8)};
        var fresh = stateFile.resolveSibling(stateFile.getFileName() + ".new");
        try {
            Files.writeString(fresh, String.join("\n", lines));
            Files.move(fresh, stateFile, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            // Without it there is no grace; the verdict stands.
        }
    }

    public static void main(String[] args) throws IOException {
        if (args.length == 0 || args.length % 7 != 0) {
            System.err.println("usage: License (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...");
            System.exit(64);
        }
        var last = State.UNKNOWN;
        for (int i = 0; i < args.length; i += 7) {
            var product = Long.parseLong(args[i + 4]);
            var hardware = args[i + 5].equals("auto") ? hardwareId(product) : args[i + 5];
            var verdict = new License(args[i], args[i + 1], args[i + 2], Path.of(args[i + 6])).check(args[i + 3], product, hardware);
            System.out.println(verdict.state.name().toLowerCase() + " " + verdict.reason);
            last = verdict.state;
        }
        System.exit(last.ordinal());
    }
}
