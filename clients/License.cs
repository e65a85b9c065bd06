// License.cs - checks a licence with a souk store: online, and offline for a while after the last good answer.
//
//     var license = new License(baseUrl, token, publicKey, stateFile);
//     if (license.Check(licenseKey, productId, License.HardwareId(productId)).State != LicenseState.Valid) …
//
// The token has the scope `verify` and nothing else; the public key is what GET /api/v1/license/public-key says, built into your
// program. Needs .NET or Mono, and libsodium: .NET has no Ed25519 of its own. How it works: docs/checking-a-licence.md.
using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

/// Refused: the store says so; Unknown: nobody says anything that can be trusted.
public enum LicenseState { Valid, Refused, Unknown }

public sealed class Verdict
{
    public readonly LicenseState State;
    public readonly string Reason;
    public Verdict(LicenseState state, string reason) { State = state; Reason = reason; }
}

public sealed class License
{
    const long GraceSeconds = 7 * 24 * 3600; // how long the last good answer counts while the store cannot be reached
    const long SkewSeconds = 300; // clocks differ by as much
    static readonly TimeSpan Timeout = TimeSpan.FromSeconds(5);
    const int AnswerBytesMax = 64 * 1024;
    const string Start = "(\"@status\" \"content-digest\" \"content-digest\";req);created=";

    sealed class Answer
    {
        public int Status;
        public string Params, Signature;
        public byte[] Body;

        public long Created { get { return long.Parse(Regex.Match(Params, @";created=(\d{1,12})").Groups[1].Value); } }

        /// A text member of a body that the store has signed. Quotes inside JSON strings are escaped, so `"key":` can only be a key.
        public string Member(string key)
        {
            var m = Regex.Match(Encoding.UTF8.GetString(Body), "\"" + key + "\":\"([^\"]*)\"");
            return m.Success ? m.Groups[1].Value : null;
        }
    }

    [DllImport("libsodium.so.23", CallingConvention = CallingConvention.Cdecl)] // libsodium on Windows and macOS
    static extern int crypto_sign_verify_detached(byte[] signature, byte[] text, ulong length, byte[] key);

    readonly string baseUrl, token, stateFile;
    readonly byte[] publicKey;

    public License(string baseUrl, string token, string publicKey, string stateFile)
    {
        this.baseUrl = baseUrl;
        this.token = token;
        this.publicKey = Convert.FromBase64String(publicKey);
        this.stateFile = stateFile;
    }

    /// This machine, for this product: other vendors' programs see another id.
    public static string HardwareId(long productId)
    {
        var machine = File.Exists("/etc/machine-id") ? File.ReadAllText("/etc/machine-id").Trim() : Environment.MachineName;
        return Hex(Sha256(Encoding.UTF8.GetBytes(machine + "\n" + productId)));
    }

    public Verdict Check(string licenseKey, long productId, string hardwareId)
    {
        var random = new byte[16];
        using (var source = RandomNumberGenerator.Create()) source.GetBytes(random);
        var nonce = Hex(random);
        var request = "{\"license_key\":" + Json(licenseKey) + ",\"product_id\":" + productId + ",\"hardware_id\":" + Json(hardwareId) + "}";
        var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        var answer = Ask(request, nonce);
        if (answer == null || !answer.Params.Contains(";nonce=\"" + nonce + "\"") || !IsSigned(request, answer)) return CheckOffline(request, now);
        if (answer.Status == 200)
        {
            Save(Math.Max(now, answer.Created), request, answer);
            return new Verdict(LicenseState.Valid, "online");
        }
        File.Delete(stateFile);
        return new Verdict(LicenseState.Refused, answer.Member("code") ?? "");
    }

    /// The store's answer, if it claims to be signed; else null.
    Answer Ask(string request, string nonce)
    {
        try
        {
            using (var handler = new HttpClientHandler { AllowAutoRedirect = false })
            using (var client = new HttpClient(handler) { Timeout = Timeout, MaxResponseContentBufferSize = AnswerBytesMax })
            using (var call = new HttpRequestMessage(HttpMethod.Post, baseUrl + "/api/v1/license/verify"))
            {
                call.Headers.Add("Authorization", "Bearer " + token);
                call.Headers.TryAddWithoutValidation("Accept-Signature", "sig1=();nonce=\"" + nonce + "\"");
                call.Content = new StringContent(request, Encoding.UTF8, "application/json");
                using (var response = client.SendAsync(call).GetAwaiter().GetResult())
                {
                    var input = Regex.Match(Header(response, "Signature-Input"), "^sig1=(.+)$");
                    var signature = Regex.Match(Header(response, "Signature"), "^sig1=:([A-Za-z0-9+/=]+):$");
                    if (!input.Success || !signature.Success) return null;
                    return new Answer
                    {
                        Status = (int)response.StatusCode,
                        Params = input.Groups[1].Value,
                        Signature = signature.Groups[1].Value,
                        Body = response.Content.ReadAsByteArrayAsync().GetAwaiter().GetResult(),
                    };
                }
            }
        }
        catch (Exception e) when (e is HttpRequestException || e is OperationCanceledException || e is IOException)
        {
            return null;
        }
    }

    static string Header(HttpResponseMessage response, string name)
    {
        System.Collections.Generic.IEnumerable<string> values;
        return response.Headers.TryGetValues(name, out values) ? string.Join(", ", values) : "";
    }

    static byte[] Sha256(byte[] data) { using (var sha = SHA256.Create()) return sha.ComputeHash(data); }
    static string Hex(byte[] data) { return string.Concat(data.Select(b => b.ToString("x2"))); }
    static string Digest(byte[] data) { return "sha-256=:" + Convert.ToBase64String(Sha256(data)) + ":"; }

    static string Json(string text)
    {
        return "\"" + string.Concat(text.Select(c => c < 0x20 ? "\\u" + ((int)c).ToString("x4") : c == '"' || c == '\\' ? "\\" + c : c.ToString())) + "\"";
    }

    /// Whether the store has signed this answer to this question (RFC 9421).
    bool IsSigned(string request, Answer a)
    {
        if (!a.Params.StartsWith(Start, StringComparison.Ordinal) || publicKey.Length != 32) return false;
        var text = Encoding.UTF8.GetBytes("\"@status\": " + a.Status + "\n\"content-digest\": " + Digest(a.Body) + "\n\"content-digest\";req: "
            + Digest(Encoding.UTF8.GetBytes(request)) + "\n\"@signature-params\": " + a.Params);
        try
        {
            var signature = Convert.FromBase64String(a.Signature);
            return signature.Length == 64 && crypto_sign_verify_detached(signature, text, (ulong)text.Length, publicKey) == 0;
        }
        catch (FormatException)
        {
            return false;
        }
    }

    /// The last good answer counts for a while, if it is about this question and the clock has not been turned back.
    Verdict CheckOffline(string request, long now)
    {
        string[] lines;
        try { lines = File.ReadAllText(stateFile).Split(new[] { '\n' }, 6); }
        catch (IOException) { return new Verdict(LicenseState.Unknown, "unreachable"); }
        long seen;
        int status;
        if (lines.Length != 6 || !long.TryParse(lines[0], out seen) || !int.TryParse(lines[2], out status)) return new Verdict(LicenseState.Unknown, "bad_state");
        if (lines[1] != request) return new Verdict(LicenseState.Unknown, "other_licence");
        var a = new Answer { Status = status, Params = lines[3], Signature = lines[4], Body = Encoding.UTF8.GetBytes(lines[5]) };
        if (status != 200 || !IsSigned(request, a)) return new Verdict(LicenseState.Unknown, "bad_state");
        if (now + SkewSeconds < Math.Max(seen, a.Created)) return new Verdict(LicenseState.Unknown, "clock");
        if (now > a.Created + GraceSeconds) return new Verdict(LicenseState.Unknown, "grace_over");
        var expires = a.Member("expires_at");
        if (expires != null && now >= DateTimeOffset.Parse(expires).ToUnixTimeSeconds()) return new Verdict(LicenseState.Refused, "license_expired");
        Save(Math.Max(seen, now), request, a);
        return new Verdict(LicenseState.Valid, "offline");
    }

    /// The kept answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.
    void Save(long seen, string request, Answer a)
    {
        var text = string.Join("\n", seen, request, a.Status, a.Params, a.Signature, Encoding.UTF8.GetString(a.Body));
        try
        {
            File.WriteAllText(stateFile + ".new", text);
            if (File.Exists(stateFile)) File.Replace(stateFile + ".new", stateFile, null);
            else File.Move(stateFile + ".new", stateFile);
        }
        catch (IOException)
        {
            // Without it there is no grace; the verdict stands.
        }
    }

    public static int Main(string[] args)
    {
        if (args.Length == 0 || args.Length % 7 != 0)
        {
            Console.Error.WriteLine("usage: License (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...");
            return 64;
        }
        var last = LicenseState.Unknown;
        for (var i = 0; i < args.Length; i += 7)
        {
            var product = long.Parse(args[i + 4]);
            var hardware = args[i + 5] == "auto" ? HardwareId(product) : args[i + 5];
            var verdict = new License(args[i], args[i + 1], args[i + 2], args[i + 6]).Check(args[i + 3], product, hardware);
            Console.WriteLine(verdict.State.ToString().ToLowerInvariant() + " " + verdict.Reason);
            last = verdict.State;
        }
        return (int)last;
    }
}
