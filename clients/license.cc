// license.cc - checks a licence with a souk store: online, and offline for a while after the last good answer.
//
//     License license{base_url, token, public_key, state_file};
//     if (license.check(license_key, product_id, License::hardware_id(product_id)).state != License::valid) …
//
// The token has the scope `verify` and nothing else; the public key is what GET /api/v1/license/public-key says, built into your
// program. Needs C++17, libcurl and libsodium: c++ license.cc -lcurl -lsodium. How it works: docs/checking-a-licence.md.
#include <curl/curl.h>
#include <sodium.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

class License {
public:
    // refused: the store says so; unknown: nobody says anything that can be trusted.
    enum State { valid, refused, unknown };
    struct Verdict {
        State state;
        std::string reason;
    };

    std::string base_url, token, public_key, state_file;

    // This machine, for this product: other vendors' programs see another id.
    static std::string hardware_id(long long product_id)
    {
        std::string machine;
        std::ifstream file{"/etc/machine-id"};
        if (!std::getline(file, machine)) {
            char name[256] = "";
            gethostname(name, sizeof name - 1);
            machine = name;
        }
        std::string sum = sha256(machine + "\n" + std::to_string(product_id));
        return hex(sum);
    }

    Verdict check(const std::string &license_key, long long product_id, const std::string &hardware_id) const
    {
        if (sodium_init() < 0) return {unknown, "no_random"};
        const std::string request = "{\"license_key\":" + json(license_key) + ",\"product_id\":" +
                                    std::to_string(product_id) + ",\"hardware_id\":" + json(hardware_id) + "}";
        std::string random(16, '\0');
        randombytes_buf(random.data(), random.size());
        const std::string nonce = hex(random);
        const long long now = std::time(nullptr);
        const auto answer = ask(request, nonce);
        if (!answer || answer->params.find(";nonce=\"" + nonce + "\"") == std::string::npos || !is_signed(request, *answer))
            return check_offline(request, now);
        if (answer->status == 200) {
            save(std::max(now, created(*answer)), request, *answer);
            return {valid, "online"};
        }
        std::remove(state_file.c_str());
        return {refused, member(answer->body, "code").value_or("")};
    }

private:
    static constexpr long long grace_s = 7 * 24 * 3600; // how long the last good answer counts while the store cannot be reached
    static constexpr long long skew_s = 300;            // clocks differ by as much
    static constexpr long timeout_s = 5;
    static constexpr std::size_t bytes_max = 64 * 1024;
    static constexpr std::string_view start = "(\"@status\" \"content-digest\" \"content-digest\";req);created=";

    struct Answer {
        long status = 0;
        std::string params, signature, body;
    };

    static std::string sha256(const std::string &text)
    {
        std::string sum(crypto_hash_sha256_BYTES, '\0');
        crypto_hash_sha256(bytes(sum), bytes(text), text.size());
        return sum;
    }
    static unsigned char *bytes(std::string &s) { return reinterpret_cast<unsigned char *>(s.data()); }
    static const unsigned char *bytes(const std::string &s) { return reinterpret_cast<const unsigned char *>(s.data()); }

    static std::string hex(const std::string &data)
    {
        std::string out(data.size() * 2 + 1, '\0');
        sodium_bin2hex(out.data(), out.size(), bytes(data), data.size());
        out.pop_back();
        return out;
    }

    static std::string digest(const std::string &data)
    {
        const std::string sum = sha256(data);
        std::string out(sodium_base64_encoded_len(sum.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
        sodium_bin2base64(out.data(), out.size(), bytes(sum), sum.size(), sodium_base64_VARIANT_ORIGINAL);
        out.pop_back();
        return "sha-256=:" + out + ":";
    }

    static std::string json(const std::string &text)
    {
        std::string out = "\"";
        for (unsigned char c : text) {
            char escaped[8];
            if (c < 0x20) {
                std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
                out += escaped;
            } else {
                if (c == '"' || c == '\\') out += '\\';
                out += static_cast<char>(c);
            }
        }
        return out + "\"";
    }

    // A text member of a body that the store has signed. Quotes inside JSON strings are escaped, so `"key":` can only be a key.
    static std::optional<std::string> member(const std::string &body, const std::string &key)
    {
        const std::string from = "\"" + key + "\":\"";
        const auto at = body.find(from);
        if (at == std::string::npos) return std::nullopt;
        const auto begin = at + from.size();
        return body.substr(begin, body.find('"', begin) - begin);
    }

    static std::size_t on_body(char *data, std::size_t, std::size_t n, void *arg)
    {
        auto &body = static_cast<Answer *>(arg)->body;
        if (n > bytes_max - body.size()) return 0;
        body.append(data, n);
        return n;
    }

    static std::size_t on_header(char *data, std::size_t, std::size_t n, void *arg)
    {
        auto *answer = static_cast<Answer *>(arg);
        std::string line{data, n};
        line.erase(line.find_last_not_of("\r\n ") + 1);
        const auto take = [&line](std::string_view name, std::string &to) {
            if (line.size() > name.size() && strncasecmp(line.c_str(), name.data(), name.size()) == 0)
                to = line.substr(name.size());
        };
        take("Signature-Input: sig1=", answer->params);
        take("Signature: sig1=", answer->signature);
        return n;
    }

    // The store's answer, if it claims to be signed.
    std::optional<Answer> ask(const std::string &request, const std::string &nonce) const
    {
        const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl{curl_easy_init(), curl_easy_cleanup};
        curl_slist *list = nullptr;
        for (const auto &header : {"Authorization: Bearer " + token, std::string{"Content-Type: application/json"},
                                   "Accept-Signature: sig1=();nonce=\"" + nonce + "\""})
            list = curl_slist_append(list, header.c_str());
        const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers{list, curl_slist_free_all};
        Answer answer;
        curl_easy_setopt(curl.get(), CURLOPT_URL, (base_url + "/api/v1/license/verify").c_str());
        curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, list);
        curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.c_str());
        curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, timeout_s);
        curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
        curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, on_header);
        curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &answer);
        if (curl_easy_perform(curl.get()) != CURLE_OK) return std::nullopt;
        curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer.status);
        auto &signature = answer.signature;
        if (signature.size() < 2 || signature.front() != ':' || signature.back() != ':') return std::nullopt;
        signature = signature.substr(1, signature.size() - 2);
        return answer;
    }

    static bool from_base64(const std::string &text, unsigned char *ret, std::size_t n)
    {
        std::size_t got;
        return sodium_base642bin(ret, n, text.data(), text.size(), nullptr, &got, nullptr,
                                 sodium_base64_VARIANT_ORIGINAL) == 0 &&
               got == n;
    }

    // Whether the store has signed this answer to this question (RFC 9421).
    bool is_signed(const std::string &request, const Answer &a) const
    {
        unsigned char key[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];
        if (a.params.compare(0, start.size(), start) != 0) return false;
        if (!from_base64(public_key, key, sizeof key) || !from_base64(a.signature, signature, sizeof signature)) return false;
        const std::string text = "\"@status\": " + std::to_string(a.status) + "\n\"content-digest\": " + digest(a.body) +
                                 "\n\"content-digest\";req: " + digest(request) + "\n\"@signature-params\": " + a.params;
        return crypto_sign_verify_detached(signature, bytes(text), text.size(), key) == 0;
    }

    static long long created(const Answer &a) { return std::atoll(a.params.c_str() + start.size()); }

    // The last good answer counts for a while, if it is about this question and the clock has not been turned back.
    Verdict check_offline(const std::string &request, long long now) const
    {
        std::ifstream file{state_file, std::ios::binary};
        if (!file) return {unknown, "unreachable"};
        std::string seen_text, question, status;
        Answer a;
        if (!std::getline(file, seen_text) || !std::getline(file, question) || !std::getline(file, status) ||
            !std::getline(file, a.params) || !std::getline(file, a.signature))
            return {unknown, "bad_state"};
        if (question != request) return {unknown, "other_licence"};
        a.status = std::atol(status.c_str());
        a.body.assign(std::istreambuf_iterator<char>{file}, {});
        if (a.status != 200 || !is_signed(request, a)) return {unknown, "bad_state"};
        const long long seen = std::atoll(seen_text.c_str());
        if (now + skew_s < std::max(seen, created(a))) return {unknown, "clock"};
        if (now > created(a) + grace_s) return {unknown, "grace_over"};
        if (const auto expires = member(a.body, "expires_at")) {
            std::tm tm{};
            if (!strptime(expires->c_str(), "%Y-%m-%dT%H:%M:%S", &tm) || now >= timegm(&tm))
                return {refused, "license_expired"};
        }
        save(std::max(seen, now), request, a);
        return {valid, "offline"};
    }

    // Keeps the answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.
    // Without it there is no grace; the verdict stands.
    void save(long long seen, const std::string &request, const Answer &a) const
    {
        const std::string name = state_file + ".new";
        std::ofstream file{name, std::ios::binary};
        file << seen << '\n' << request << '\n' << a.status << '\n' << a.params << '\n' << a.signature << '\n' << a.body;
        file.close();
        if (file) std::rename(name.c_str(), state_file.c_str());
    }
};

int main(int argc, char **argv)
{
    License::State last = License::unknown;
    if (argc < 8 || argc % 7 != 1) {
        std::cerr << "usage: license (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...\n";
        return 64;
    }
    for (char **arg = argv + 1; *arg; arg += 7) {
        const License license{arg[0], arg[1], arg[2], arg[6]};
        const long long product = std::atoll(arg[4]);
        const std::string hardware = std::string_view{arg[5]} == "auto" ? License::hardware_id(product) : arg[5];
        const auto [state, reason] = license.check(arg[3], product, hardware);
        std::cout << (state == License::valid ? "valid " : state == License::refused ? "refused " : "unknown ") << reason << '\n';
        last = state;
    }
    return last;
}
