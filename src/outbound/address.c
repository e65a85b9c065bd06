/* outbound/address.c - see address.h. */
#include "outbound/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

struct network4 {
    uint32_t base;
    int bits;
};

static bool is_private4(uint32_t ip)
{
    static const struct network4 networks[] = {
        {0x00000000, 8},  /* this network */
        {0x0a000000, 8},  /* private */
        {0x64400000, 10}, /* shared between providers and customers */
        {0x7f000000, 8},  /* loopback */
        {0xa9fe0000, 16}, /* link-local; clouds keep their metadata here */
        {0xac100000, 12}, /* private */
        {0xc0000000, 24}, /* protocol assignments */
        {0xc0000200, 24}, /* documentation */
        {0xc0a80000, 16}, /* private */
        {0xc6120000, 15}, /* benchmarks */
        {0xc6336400, 24}, /* documentation */
        {0xcb007100, 24}, /* documentation */
        {0xe0000000, 3},  /* multicast, reserved, broadcast */
    };
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if ((ip ^ networks[i].base) >> (32 - networks[i].bits) == 0) return true;
    return false;
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_private6(const uint8_t ip[16])
{
    static const uint8_t zero[16];
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
    if (memcmp(ip, mapped, 12) == 0 || memcmp(ip, nat64, 12) == 0) return is_private4(be32(ip + 12));
    if (memcmp(ip, zero, 12) == 0) return true;                           /* unspecified, loopback, IPv4-compatible */
    if (ip[0] == 0x20 && ip[1] == 0x02) return is_private4(be32(ip + 2)); /* 6to4 */
    return (ip[0] & 0xe0) != 0x20;                                        /* only 2000::/3 is global unicast */
}

bool address_is_private(const struct sockaddr *address, socklen_t bytes)
{
    if (address->sa_family == AF_INET && bytes >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return is_private4(ntohl(in.sin_addr.s_addr));
    }
    if (address->sa_family == AF_INET6 && bytes >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        return is_private6(in6.sin6_addr.s6_addr);
    }
    return true;
}

/* An address in digits that is private, or a name that no public server can have. */
static bool names_private(Str host, bool bracketed)
{
    static const Str tails[] = {S(".local"), S(".internal"), S(".lan"), S(".home.arpa"), S(".localhost")};
    char text[INET6_ADDRSTRLEN];
    if (host.len >= sizeof text && bracketed) return false;
    if (host.len < sizeof text) {
        struct in6_addr ip6;
        struct in_addr ip4;
        memcpy(text, host.ptr, host.len);
        text[host.len] = '\0';
        if (bracketed) return inet_pton(AF_INET6, text, &ip6) == 1 && is_private6(ip6.s6_addr);
        if (inet_pton(AF_INET, text, &ip4) == 1) return is_private4(ntohl(ip4.s_addr));
    }
    if (str_find(host, '.') < 0) return true;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (host.len > tails[i].len && str_eq_nocase((Str){host.ptr + host.len - tails[i].len, tails[i].len}, tails[i]))
            return true;
    return false;
}

static bool is_host_char(char c, bool bracketed)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-') return true;
    return bracketed && c == ':';
}

/* host or [host], then nothing, a port, or a path. */
static bool authority_parse(Str rest, struct base_address *ret, Str *ret_tail)
{
    bool bracketed = rest.len && rest.ptr[0] == '[';
    size_t start = bracketed, i = start;
    while (i < rest.len && is_host_char(rest.ptr[i], bracketed)) i++;
    Str host = {rest.ptr + start, i - start};
    if (!host.len || host.len > 253) return false;
    if (bracketed && (i >= rest.len || rest.ptr[i++] != ']')) return false;
    if (i < rest.len && rest.ptr[i] == ':') {
        size_t digits = ++i;
        while (i < rest.len && rest.ptr[i] >= '0' && rest.ptr[i] <= '9') i++;
        int64_t port;
        if (i - digits > 5 || !str_to_int64((Str){rest.ptr + digits, i - digits}, &port) || port < 1 || port > 65535)
            return false;
    }
    ret->host = host;
    ret->names_private = names_private(host, bracketed);
    *ret_tail = (Str){rest.ptr + i, rest.len - i};
    return true;
}

static bool scheme_cut(Str url, Str plain, Str secure, struct base_address *ret, Str *ret_rest)
{
    ret->is_https = str_starts(url, secure);
    if (!ret->is_https && !str_starts(url, plain)) return false;
    size_t n = ret->is_https ? secure.len : plain.len;
    *ret_rest = (Str){url.ptr + n, url.len - n};
    return true;
}

bool base_address_parse(Str url, struct base_address *ret)
{
    struct base_address at = {0};
    Str rest, tail;
    if (!scheme_cut(url, STR("http://"), STR("https://"), &at, &rest)) return false;
    if (!authority_parse(rest, &at, &tail)) return false;
    if (tail.len && (tail.ptr[0] != '/' || tail.ptr[tail.len - 1] == '/')) return false;
    for (size_t i = 0; i < tail.len; i++) {
        char c = tail.ptr[i];
        if (c <= 0x20 || c >= 0x7f || strchr("?#\\\"<>^`{|}%", c)) return false;
        if (c == '.' && tail.ptr[i - 1] == '/') return false; /* no dot segments, nor hidden ones */
    }
    *ret = at;
    return true;
}

bool hook_address_parse(Str url, struct base_address *ret)
{
    struct base_address at = {0};
    Str rest, tail;
    if (!scheme_cut(url, STR("http://"), STR("https://"), &at, &rest)) return false;
    if (!authority_parse(rest, &at, &tail)) return false;
    if (tail.len && tail.ptr[0] != '/' && tail.ptr[0] != '?') return false;
    for (size_t i = 0; i < tail.len; i++)
        if (tail.ptr[i] <= 0x20 || tail.ptr[i] >= 0x7f || strchr("#\\\"<>^`{|}", tail.ptr[i])) return false;
    *ret = at;
    return true;
}

bool mail_address_parse(Str url, struct base_address *ret)
{
    struct base_address at = {0};
    Str rest, tail;
    if (!scheme_cut(url, STR("smtp://"), STR("smtps://"), &at, &rest)) return false;
    if (!authority_parse(rest, &at, &tail) || tail.len) return false;
    *ret = at;
    return true;
}
