/* domain/mail_words.h - the words of mails that the merchant has changed. Where there are none, those that came with
 * the program are used (page/mail_text.h). */
#pragma once

#include "db/db.h"
#include "page/mail_text.h"

#define MAIL_SUBJECT_MAX 200 /* code points */
#define MAIL_BODY_MAX 10000

struct mail_words {
    enum mail_kind kind;
    enum lang lang;
    struct mail_text text;
    bool is_changed; /* the merchant's own */
    Time updated_at; /* of the merchant's own */
};

/* The words that are used. TX_READ is enough. */
enum err mail_words_read(struct db *db, enum mail_kind kind, enum lang lang, struct mail_words *ret);
enum err mail_words_find(struct db *db, enum mail_kind kind, enum lang lang, struct mail_text *ret);
/* Which are changed: one flag for each. */
struct mail_words_changed {
    bool is[LANG_COUNT][MAIL_KIND_COUNT];
};
enum err mail_words_list(struct db *db, struct mail_words_changed *ret);
/* Checked already (mail_text_check). TX_WRITE. */
enum err mail_words_set(struct db *db, enum mail_kind kind, enum lang lang, const struct mail_text *text, Time now);
/* Back to those of the program. */
enum err mail_words_reset(struct db *db, enum mail_kind kind, enum lang lang);
