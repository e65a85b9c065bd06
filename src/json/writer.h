/* json/writer.h - writes JSON into a buf, front to back.
 *
 * The writer puts the commas: callers say what comes, and in which order. Unbalanced use is an assert, and so is a
 * value without its key in an object, a key in an array, or a second value at the top. Text is escaped as RFC 8259
 * asks, and
 * '<', '>', '&', U+2028 and U+2029 too, so that JSON is harmless inside HTML. Text must be valid UTF-8; each byte that
 * is not is written as U+FFFD. Keys are ours and written unescaped. A full buf drops what does not fit: check the buf
 * once, at the end. */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "base/money.h"
#include "base/timestamp.h"

#define JSON_WRITER_DEPTH_MAX 64

struct json_writer {
    struct buf *out;
    int depth;
    int exponent;     /* decimals of the store's currency, for json_money */
    uint64_t objects; /* bit i: what is open at depth i is an object, not an array */
    bool comma;       /* a value stands before the next one at this level */
    bool keyed;       /* a key was written, its value is due */
};

void json_writer_init(struct json_writer *w, struct buf *out, int exponent);

void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);

/* Values: inside an array, or after json_key. */
void json_str(struct json_writer *w, Str s);
void json_int(struct json_writer *w, int64_t v);
void json_bool(struct json_writer *w, bool v);
void json_null(struct json_writer *w);
void json_id(struct json_writer *w, Id id);
void json_money(struct json_writer *w, Money m); /* a number with the currency's decimals: 19.99 */
void json_time(struct json_writer *w, Time t);   /* "2026-11-15T01:23:45Z"; null for 0 */
void json_raw(struct json_writer *w, Str json);  /* ready-made JSON, trusted */

/* Members: key and value in one. _opt_ writes null for "none" (id 0, empty text). */
void json_kv_str(struct json_writer *w, const char *key, Str s);
void json_kv_opt_str(struct json_writer *w, const char *key, Str s);
void json_kv_cstr(struct json_writer *w, const char *key, const char *s);
void json_kv_int(struct json_writer *w, const char *key, int64_t v);
void json_kv_bool(struct json_writer *w, const char *key, bool v);
void json_kv_null(struct json_writer *w, const char *key);
void json_kv_id(struct json_writer *w, const char *key, Id id);
void json_kv_opt_id(struct json_writer *w, const char *key, Id id);
void json_kv_money(struct json_writer *w, const char *key, Money m);
void json_kv_time(struct json_writer *w, const char *key, Time t);
