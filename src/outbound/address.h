/* outbound/address.h - parses configured addresses, and tells private addresses from public ones. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/str.h"

struct base_address {
    bool is_https; /* or smtps */
    Str host;      /* without brackets */
    bool names_private;
};

/* http(s)://host[:port][/path]: no userinfo, query, fragment, spaces, control characters, nor a slash at the end. */
bool base_address_parse(Str url, struct base_address *ret);
/* http(s)://host[:port][/path][?query]: no userinfo, fragment, spaces, control characters. */
bool hook_address_parse(Str url, struct base_address *ret);
/* smtp://host[:port] or smtps://host[:port]. */
bool mail_address_parse(Str url, struct base_address *ret);

/* Not on the public internet: loopback, private, link-local, shared, multicast, unspecified, reserved; IPv4 inside IPv6
 * counts as the IPv4 address. Any other family is private. */
bool address_is_private(const struct sockaddr *address, socklen_t bytes);
