/* domain/mail.c - see mail.h. */
#include "domain/mail.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "domain/account.h"
#include "domain/addressee.h"
#include "domain/outbox.h"
#include "domain/settings.h"
#include "page/words.h"

#define STAFF_MAX 50 /* receivers of one message */
/* Of a name that is written to an address which nobody has proved. */
#define PLAIN_NAME_BYTES 60
#define PLAIN_NAME_DIGITS 3

static bool is_enabled;
static _Atomic(const char *) base = "";

void mail_enable(bool on)
{
    is_enabled = on;
}

void mail_set_base_url(const char *base_url)
{
    atomic_store(&base, base_url);
}

const char *mail_base_url(void)
{
    return atomic_load(&base);
}

bool mail_is_enabled(void)
{
    return is_enabled;
}

/* ---- on its way ---- */

/* Three lines: receiver, kind, language. Then for each value its name, how many bytes it has, and the bytes. */
Str queued_mail_pack(struct arena *a, const struct queued_mail *m)
{
    struct buf b;
    buf_init(&b, a, SIZE_MAX);
    buf_printf(&b, "%.*s\n%s\n%s\n", STR_FMT(m->to), mail_kind_names[m->kind], lang_codes[m->lang]);
    for (int i = 0; i < MAIL_PARAM_COUNT; i++) {
        Str value = m->values.of[i];
        if (!value.len) continue;
        buf_printf(&b, "%s\n%zu\n", mail_param_names[i], value.len);
        buf_append(&b, value);
    }
    return buf_str(&b);
}

static bool unpack_value(Str *rest, struct mail_values *values)
{
    Str name, size;
    int64_t bytes;
    if (!str_cut(*rest, '\n', &name, rest) || !str_cut(*rest, '\n', &size, rest)) return false;
    int param = str_choice(name, mail_param_names);
    if (!str_to_int64(size, &bytes) || bytes < 0 || (uint64_t)bytes > rest->len) return false;
    if (param >= 0) values->of[param] = (Str){rest->ptr, (size_t)bytes}; /* of an older program, perhaps: not needed */
    *rest = (Str){rest->ptr + bytes, rest->len - (size_t)bytes};
    return true;
}

bool queued_mail_unpack(Str payload, struct queued_mail *ret)
{
    struct queued_mail m = {0};
    Str kind, code, rest;
    if (!str_cut(payload, '\n', &m.to, &rest) || !str_cut(rest, '\n', &kind, &rest)) return false;
    if (!str_cut(rest, '\n', &code, &rest) || !lang_find(code, &m.lang)) return false;
    int known = str_choice(kind, mail_kind_names);
    if (known < 0) return false;
    m.kind = (enum mail_kind)known;
    while (rest.len)
        if (!unpack_value(&rest, &m.values)) return false;
    *ret = m;
    return true;
}

/* ---- writing ---- */

static enum err begin(struct db *db, enum mail_kind kind, Str language, struct mail_draft *ret)
{
    struct mail_draft m = {.kind = kind};
    enum err e = addressee_of(db, language, &m.page);
    if (!e) *ret = m;
    return e;
}

/* A name for an address that nobody has proved: letters, what stands between them in names, and few digits. Anybody may
 * register somebody else's address under any name, and what we write there must be no message of theirs, nor a link. */
static Str plain_name(Str name)
{
    bool is_plain = name.len <= PLAIN_NAME_BYTES;
    int digits = 0;
    for (size_t i = 0; i < name.len && is_plain; i++) {
        char c = name.ptr[i];
        bool is_digit = c >= '0' && c <= '9' && ++digits <= PLAIN_NAME_DIGITS;
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
        bool is_end = i + 1 == name.len || name.ptr[i + 1] == ' ';
        is_plain = is_letter || is_digit || c == ' ' || c == '-' || c == '\'' || (c == '.' && is_end);
    }
    return is_plain ? name : (Str){0};
}

enum err mail_begin(struct db *db, Id account, enum mail_kind kind, struct mail_draft *ret)
{
    struct account a;
    struct mail_draft m;
    enum err e = account_find(db, account, &a);
    if (!e) e = begin(db, kind, a.language, &m);
    if (e) return e;
    m.to = a.email;
    m.values.of[PARAM_name] = a.is_unproven ? plain_name(a.name) : a.name;
    *ret = m;
    return OK;
}

enum err mail_begin_staff(struct db *db, enum mail_kind kind, struct mail_draft *ret)
{
    assert(mail_kinds[kind].to_staff);
    return begin(db, kind, (Str){0}, ret);
}

static enum err queue_to(struct db *db, const struct mail_draft *m, Str to, Time now)
{
    struct queued_mail queued = {.to = to, .kind = m->kind, .lang = m->page.lang, .values = m->values};
    struct outbox_item item = {.kind = OUTBOX_MAIL, .payload = queued_mail_pack(db_arena(db), &queued)};
    return outbox_add(db, &item, now, now, NULL);
}

static enum err queue_to_staff(struct db *db, const struct mail_draft *m, Time now)
{
    static const char list[] = "SELECT email FROM account WHERE role IN ('staff', 'owner') AND role <> 'customer'"
                               " AND is_active = 1 ORDER BY id LIMIT 50";
    Str address, all[STAFF_MAX];
    size_t count = 0;
    enum err e = settings_get(db, "staff_mail", &address);
    if (e) return e;
    if (address.len) return queue_to(db, m, address, now);
    struct stmt *st = db_prepare(db, list);
    while (count < STAFF_MAX && db_step(st)) all[count++] = col_text(st);
    e = db_done(st);
    for (size_t i = 0; !e && i < count; i++) e = queue_to(db, m, all[i], now);
    return e;
}

enum err mail_queue(struct db *db, const struct mail_draft *m, Time now)
{
    if (!is_enabled) return OK;
    for (int i = 0; i < MAIL_PARAM_COUNT; i++)
        assert(!m->values.of[i].len || mail_kind_has(m->kind, (enum mail_param)i));
    return m->to.len ? queue_to(db, m, m->to, now) : queue_to_staff(db, m, now);
}

/* ---- values ---- */

Str mail_number(struct mail_draft *m, Id id)
{
    return page_int(&m->page, id.v);
}

Str mail_amount(struct mail_draft *m, Money amount, Str currency)
{
    return addressee_amount(&m->page, amount, currency);
}

Str mail_address(struct mail_draft *m, const char *fmt, ...)
{
    char path[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    assert(n > 0 && (size_t)n < sizeof path);
    return str_printf(m->page.arena, "%s%s", mail_base_url(), path);
}

Str mail_what(struct mail_draft *m, Id order, Id payment)
{
    return addressee_what(&m->page, order, payment);
}

/* ---- another address ---- */

enum err mail_email_change(struct db *db, Id account, Str new_address, Str link, int64_t days, Time now)
{
    struct mail_draft m, notice;
    enum err e = mail_begin(db, account, MAIL_email_change, &m);
    if (!e) e = mail_begin(db, account, MAIL_email_change_notice, &notice);
    if (e) return e;
    m.to = new_address;
    m.values.of[PARAM_name] = plain_name(m.values.of[PARAM_name]);
    m.values.of[PARAM_new_address] = notice.values.of[PARAM_new_address] = new_address;
    m.values.of[PARAM_link] = link;
    m.values.of[PARAM_days] = page_int(&m.page, days);
    e = mail_queue(db, &m, now);
    return e ? e : mail_queue(db, &notice, now);
}

enum err mail_notice(struct db *db, Id account, enum mail_kind kind, Time now)
{
    struct account a;
    struct mail_draft m;
    enum err e = account_find(db, account, &a);
    if (e || a.is_unproven) return e;
    e = mail_begin(db, account, kind, &m);
    if (e) return e;
    m.values.of[PARAM_link] = mail_address(&m, "/forgot");
    return mail_queue(db, &m, now);
}

enum err mail_email_changed(struct db *db, Id account, Str old_address, Time now)
{
    struct mail_draft m;
    enum err e = mail_begin(db, account, MAIL_email_changed, &m);
    if (e) return e;
    m.values.of[PARAM_new_address] = m.to;
    m.to = old_address;
    return mail_queue(db, &m, now);
}
