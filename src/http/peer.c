/* http/peer.c - addresses as text: to listen on, of clients, from proxies. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "http/loop.h"

/* "host:port", "[v6]:port", ":port". Names are resolved; the first address counts. */
bool address_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len)
{
    char host[256];
    const char *colon = strrchr(text, ':'), *begin = text;
    if (!colon || !colon[1]) return false;
    size_t n = (size_t)(colon - text);
    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        begin++;
        n -= 2;
    }
    if (n >= sizeof host) return false;
    memcpy(host, begin, n);
    host[n] = '\0';
    int64_t port;
    if (!str_to_int64(str_from(colon + 1), &port) || port < 0 || port > 65535) return false;

    if (n == 0) { /* every address: one IPv6 socket takes both families, where there is IPv6 */
        struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        memset(ret, 0, sizeof *ret);
        memcpy(ret, &any, sizeof any);
        *ret_len = sizeof any;
        return true;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE}, *found;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) return false;
    memset(ret, 0, sizeof *ret);
    memcpy(ret, found->ai_addr, found->ai_addrlen);
    *ret_len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* An IPv4 client of a socket for both families is shown as IPv4. */
void address_text(const struct sockaddr_storage *address, char ret[INET6_ADDRSTRLEN])
{
    ret[0] = '\0';
    if (address->ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        inet_ntop(AF_INET, &v4.sin_addr, ret, INET6_ADDRSTRLEN);
    } else if (address->ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
            inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, ret, INET6_ADDRSTRLEN);
        else
            inet_ntop(AF_INET6, &v6.sin6_addr, ret, INET6_ADDRSTRLEN);
    }
}

void address_network(Str peer, char ret[NETWORK_TEXT_MAX])
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    snprintf(text, sizeof text, "%.*s", STR_FMT(peer));
    if (inet_pton(AF_INET6, text, &v6) == 1) {
        memset(v6.s6_addr + 8, 0, 8);
        inet_ntop(AF_INET6, &v6, text, sizeof text);
        snprintf(ret, NETWORK_TEXT_MAX, "%s/64", text);
    } else {
        snprintf(ret, NETWORK_TEXT_MAX, "%s", text);
    }
}

bool address_canonical(Str text, char ret[INET6_ADDRSTRLEN])
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len > 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']') text = (Str){text.ptr + 1, text.len - 2};
    if (text.len == 0 || text.len >= sizeof copy) return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    struct sockaddr_storage address = {0};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, copy, &v4.sin_addr) == 1)
        memcpy(&address, &v4, sizeof v4);
    else if (inet_pton(AF_INET6, copy, &v6.sin6_addr) == 1)
        memcpy(&address, &v6, sizeof v6);
    else
        return false;
    address_text(&address, ret);
    return true;
}

Str address_forwarded(struct exchange *x)
{
    Str list = {0}, before, entry;
    for (size_t i = 0; i < x->head.header_count; i++)
        if (str_eq_nocase(x->head.headers[i].name, STR("X-Forwarded-For"))) list = x->head.headers[i].value;
    while (str_cut(list, ',', &before, &entry)) list = entry;
    char text[INET6_ADDRSTRLEN];
    if (!address_canonical(str_trim(list), text)) return (Str){0};
    return str_dup(&x->arena, str_from(text));
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (address->ss_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    }
    memcpy(&v6, address, sizeof v6);
    return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool listens_on_loopback(const char *listen)
{
    struct sockaddr_storage address;
    socklen_t len;
    return address_parse(listen, &address, &len) && is_loopback(&address);
}

bool address_is_loopback(Str address)
{
    return str_eq(address, STR("::1")) || str_starts(address, STR("127."));
}
