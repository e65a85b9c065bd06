/* outbound/smtp.c - see smtp.h. Headers are written as RFC 2047 words in base64 where needed, the text in
 * quoted-printable. */
#include "outbound/smtp.h"

#include "base/base64.h"
#include "base/buf.h"
#include "outbound/http_call.h"

#define LINE_MAX_CHARS 76
#define WORD_BYTES_MAX 39 /* of text in one encoded word: "Subject: =?UTF-8?B?…?=" stays within one line */
#define MESSAGE_BYTES_MAX (1024 * 1024)
#define BOUNDARY "=_souk" /* "=_" never stands in quoted-printable */

static bool is_atom(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-/=?^_`{|}~.", c));
}

static bool is_domain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

bool mail_address_is_fine(Str address)
{
    Str local, domain;
    if (address.len > 254 || !str_cut(address, '@', &local, &domain)) return false;
    if (!local.len || local.len > 64 || !domain.len || local.ptr[0] == '.' || local.ptr[0] == '-') return false;
    if (domain.ptr[0] == '.' || domain.ptr[0] == '-' || domain.ptr[domain.len - 1] == '.') return false;
    for (size_t i = 0; i < local.len; i++)
        if (!is_atom(local.ptr[i])) return false;
    for (size_t i = 0; i < domain.len; i++)
        if (!is_domain(domain.ptr[i])) return false;
    return true;
}

/* Printable ASCII that needs no encoding where a text may stand in a header. */
static bool is_plain(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < 0x20 || s.ptr[i] > 0x7e) return false;
    return s.len <= 60;
}

/* How many bytes of s fit into one word without cutting a character. */
static size_t word_bytes(Str s)
{
    if (s.len <= WORD_BYTES_MAX) return s.len;
    size_t n = WORD_BYTES_MAX;
    while (n > WORD_BYTES_MAX - 3 && ((unsigned char)s.ptr[n] & 0xc0) == 0x80) n--;
    return n;
}

static void encoded_words(struct arena *a, struct buf *b, Str s)
{
    while (s.len) {
        size_t n = word_bytes(s);
        buf_lit(b, "=?UTF-8?B?");
        buf_append(b, base64_encode(a, BASE64_PADDED, (Str){s.ptr, n}));
        buf_lit(b, "?=");
        s = (Str){s.ptr + n, s.len - n};
        if (s.len) buf_lit(b, "\r\n ");
    }
}

static void header_text(struct arena *a, struct buf *b, Str s)
{
    if (is_plain(s) && str_find(s, '=') < 0)
        buf_append(b, s);
    else
        encoded_words(a, b, s);
}

/* A name in front of an address: letters, digits and spaces unencoded, any other name encoded. */
static void display_name(struct arena *a, struct buf *b, Str name)
{
    bool simple = is_plain(name);
    for (size_t i = 0; simple && i < name.len; i++) simple = name.ptr[i] == ' ' || is_domain(name.ptr[i]);
    if (simple && str_find(name, '.') < 0)
        buf_append(b, name);
    else
        encoded_words(a, b, name);
}

static void date_header(struct buf *b, Time t)
{
    char text[30];
    time_format_http(t, text);
    buf_lit(b, "Date: ");
    buf_append(b, (Str){text, 26}); /* "Sun, 06 Nov 1994 08:49:37 ", without GMT */
    buf_lit(b, "+0000\r\n");
}

struct qp {
    struct buf *out;
    size_t column;
};

static void qp_put(struct qp *q, Str token)
{
    if (q->column + token.len > LINE_MAX_CHARS - 1) { /* one column is kept for the '=' of a soft break */
        buf_lit(q->out, "=\r\n");
        q->column = 0;
    }
    buf_append(q->out, token);
    q->column += token.len;
}

static void quoted_printable(struct buf *b, Str text)
{
    static const char hex[] = "0123456789ABCDEF";
    struct qp q = {b, 0};
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool ends_line = i + 1 == text.len || text.ptr[i + 1] == '\n' || text.ptr[i + 1] == '\r';
        if (c == '\n') {
            buf_lit(b, "\r\n");
            q.column = 0;
            continue;
        }
        if (c == '\r') continue;
        bool literal = c >= 0x20 && c <= 0x7e && c != '=' && !(c == ' ' && ends_line);
        /* A line may begin here, at a line break or a soft break: dots near either are encoded. */
        if (c == '.' && (q.column == 0 || q.column + 1 > LINE_MAX_CHARS - 1)) literal = false;
        if (literal) {
            qp_put(&q, (Str){&c, 1});
        } else {
            char escaped[3] = {'=', hex[(unsigned char)c >> 4], hex[(unsigned char)c & 15]};
            qp_put(&q, (Str){escaped, 3});
        }
    }
    if (q.column) buf_lit(b, "\r\n");
}

static void part(struct buf *b, const char *type, Str text)
{
    buf_printf(b, "Content-Type: %s; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", type);
    quoted_printable(b, text);
}

/* Programs show the last part that they can. */
static void body(struct buf *b, const struct mail *m)
{
    if (!m->html.len) {
        part(b, "text/plain", m->text);
        return;
    }
    buf_lit(b, "Content-Type: multipart/alternative; boundary=\"" BOUNDARY "\"\r\n\r\n--" BOUNDARY "\r\n");
    part(b, "text/plain", m->text);
    buf_lit(b, "\r\n--" BOUNDARY "\r\n");
    part(b, "text/html", m->html);
    buf_lit(b, "\r\n--" BOUNDARY "--\r\n");
}

bool mail_message(struct arena *a, const struct mail *m, Str *ret)
{
    if (!mail_address_is_fine(m->from_address) || !mail_address_is_fine(m->to_address)) return false;
    if (!mail_address_is_fine(m->message_id)) return false;
    struct buf b;
    buf_init(&b, a, MESSAGE_BYTES_MAX);
    date_header(&b, m->date);
    buf_lit(&b, "From: ");
    if (m->from_name.len) {
        display_name(a, &b, m->from_name);
        buf_lit(&b, "\r\n ");
    }
    buf_char(&b, '<');
    buf_append(&b, m->from_address);
    buf_lit(&b, ">\r\nTo: <");
    buf_append(&b, m->to_address);
    buf_lit(&b, ">\r\nMessage-ID: <");
    buf_append(&b, m->message_id);
    buf_lit(&b, ">\r\nSubject: ");
    header_text(a, &b, m->subject);
    buf_lit(&b, "\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n");
    body(&b, m);
    if (b.full) return false;
    *ret = buf_str(&b);
    return true;
}
