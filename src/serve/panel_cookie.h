/* serve/panel_cookie.h - the panel's login in a cookie, so that a new tab needs no new login.
 *
 * The cookie holds a login token. Scripts cannot read it (HttpOnly), other sites cannot make a browser send it
 * (SameSite=Strict), and it counts only beside the header X-Souk-Panel, which no form, link or image can set and no
 * other origin may. */
#pragma once

#include "serve/request.h"

/* Whether the call has the header and does not come from another site. */
bool panel_is_calling(const struct request *req);
/* The token's text, or an empty Str: no cookie, two of them, no header, or a call from another site. */
Str panel_cookie_read(const struct request *req);
void panel_cookie_set(struct request *req, Str token, int64_t valid_ms);
/* Deletes the cookie, if the caller sent it. */
void panel_cookie_clear(struct request *req);
