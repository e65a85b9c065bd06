/* domain/mail_words.c - see mail_words.h. */
#include "domain/mail_words.h"

#include "page/words.h"

static void bind_which(struct stmt *st, enum mail_kind kind, enum lang lang)
{
    bind_text(st, str_from(mail_kind_names[kind]));
    bind_text(st, str_from(lang_codes[lang]));
}

enum err mail_words_read(struct db *db, enum mail_kind kind, enum lang lang, struct mail_words *ret)
{
    static const char find[] = "SELECT subject, body, updated_at FROM mail_words WHERE kind = $1 AND language = $2";
    struct mail_words w = {.kind = kind, .lang = lang, .text = mail_defaults[lang][kind]};
    struct stmt *st = db_prepare(db, find);
    bind_which(st, kind, lang);
    if (db_step(st)) {
        w.text.subject = col_text(st);
        w.text.body = col_text(st);
        w.updated_at = col_time(st);
        w.is_changed = true;
    }
    enum err e = db_done(st);
    if (!e) *ret = w;
    return e;
}

enum err mail_words_find(struct db *db, enum mail_kind kind, enum lang lang, struct mail_text *ret)
{
    struct mail_words w;
    enum err e = mail_words_read(db, kind, lang, &w);
    if (!e) *ret = w.text;
    return e;
}

enum err mail_words_list(struct db *db, struct mail_words_changed *ret)
{
    static const char list[] = "SELECT kind, language FROM mail_words";
    struct mail_words_changed all = {0};
    struct stmt *st = db_prepare(db, list);
    while (db_step(st)) {
        enum lang lang;
        int kind = str_choice(col_text(st), mail_kind_names);
        if (lang_find(col_text(st), &lang) && kind >= 0) all.is[lang][kind] = true;
    }
    enum err e = db_done(st);
    if (!e) *ret = all;
    return e;
}

enum err mail_words_set(struct db *db, enum mail_kind kind, enum lang lang, const struct mail_text *text, Time now)
{
    static const char set[] =
        "INSERT INTO mail_words (kind, language, subject, body, updated_at) VALUES ($1, $2, $3, $4, $5)"
        " ON CONFLICT (kind, language) DO UPDATE SET subject = excluded.subject, body = excluded.body,"
        " updated_at = excluded.updated_at";
    struct stmt *st = db_prepare(db, set);
    bind_which(st, kind, lang);
    bind_text(st, text->subject);
    bind_text(st, text->body);
    bind_time(st, now);
    return db_run(st);
}

enum err mail_words_reset(struct db *db, enum mail_kind kind, enum lang lang)
{
    static const char reset[] = "DELETE FROM mail_words WHERE kind = $1 AND language = $2";
    struct stmt *st = db_prepare(db, reset);
    bind_which(st, kind, lang);
    return db_run(st);
}
