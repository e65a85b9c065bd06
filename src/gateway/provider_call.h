/* gateway/provider_call.h - what the adapters share when they describe a call and read its answer, so that each of them
 * says only what is different at its provider. */
#pragma once

#include "gateway/gateway.h"
#include "json/writer.h"

/* A JSON body on its way: an object that is open until it becomes a call's. */
struct json_body {
    struct buf bytes;
    struct json_writer w;
};
struct json_writer *json_body_begin(struct json_body *b, struct arena *a);
/* Closes the object and makes it the call's body. False when it is too long to be sent. */
bool call_json(struct http_call *call, struct json_body *b);
/* The same for a form. */
bool call_form(struct http_call *call, const struct buf *form);
/* Opens an object as a member of the one that is open. */
void json_open(struct json_writer *w, const char *key);

/* The gateway's address and a path. */
void call_url(struct arena *a, const struct gateway_config *config, struct http_call *call, Str path);

/* The ends of create_read and refund_read. An answer without what is asked for is REPLY_RETRY: the effect may be
 * there. */
enum reply page_read(struct pay_page page, struct pay_page *ret);
/* A refund that the answer itself calls failed or cancelled is REPLY_REFUSED. */
enum reply refund_read_json(const struct json *refund, Str url, struct refund_page *ret);

/* Adds a line in front of the others. */
void book_add(struct arena *a, struct book_lines *lines, struct book_entry entry);

/* Puts in *e which message the confirmed event answers to. */
void event_of_claim(const struct payment_event *claim, struct payment_event *e);
