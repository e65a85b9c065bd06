/* gateway/provider_call.h - what the adapters share when they describe a call and read its answer, so that each states
 * only what is special about its provider. */
#pragma once

#include "gateway/gateway.h"
#include "json/writer.h"

/* A JSON body being written: an object that stays open until it becomes a call's body. */
struct json_body {
    struct buf bytes;
    struct json_writer w;
};
struct json_writer *json_body_begin(struct json_body *b, struct arena *a);
/* Closes the object and makes it the call's body. False when it is too long to send. */
bool call_json(struct http_call *call, struct json_body *b);
/* The same for a form. */
bool call_form(struct http_call *call, const struct buf *form);
/* Opens an object as a member of the open one. */
void json_open(struct json_writer *w, const char *key);

/* The gateway's address and a path. */
void call_url(struct arena *a, const struct gateway_config *config, struct http_call *call, Str path);

/* The ends of create_read and refund_read. An answer that lacks what was asked for is REPLY_RETRY: the call may have
 * taken effect. */
enum reply page_read(struct pay_page page, struct pay_page *ret);
/* A refund that the answer itself calls failed or cancelled is REPLY_REFUSED. */
enum reply refund_read_json(const struct json *refund, Str url, struct refund_page *ret);

/* Adds a line in front of the others. */
void book_add(struct arena *a, struct book_lines *lines, struct book_entry entry);

/* Notes in *e which message the confirmed event answers. */
void event_of_claim(const struct payment_event *claim, struct payment_event *e);
