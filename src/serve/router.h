/* serve/router.h - the owner of every exchange: match, limit, authenticate, read, run, render. */
#pragma once

#include "serve/app.h"

/* The hooks for http_server_start; ctx is the app. */
struct http_hooks router_hooks(struct app *app);
