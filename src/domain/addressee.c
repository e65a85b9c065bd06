/* domain/addressee.c - see reader.h. */
#include "domain/addressee.h"

#include "domain/account.h"
#include "domain/settings.h"
#include "page/words.h"

enum err addressee_of(struct db *db, Str language, struct page *ret)
{
    enum lang offered[LANG_COUNT], lang;
    Str languages, currency;
    enum err e = settings_get(db, "languages", &languages);
    if (!e) e = settings_get(db, "currency", &currency);
    if (e) return e;
    size_t n = lang_list(languages, offered);
    *ret = (struct page){
        .arena = db_arena(db), .lang = offered[0], .currency = currency.len ? currency : STR(SETTINGS_CURRENCY)};
    if (!lang_find(language, &lang)) return OK;
    for (size_t i = 0; i < n; i++)
        if (offered[i] == lang) ret->lang = lang;
    return OK;
}

enum err addressee_of_account(struct db *db, Id account, struct page *ret)
{
    struct account a;
    enum err e = account_find(db, account, &a);
    return e ? e : addressee_of(db, a.language, ret);
}

Str addressee_what(struct page *p, Id order, Id payment)
{
    if (id_is(order)) return words_fill(p, WORD_mail_order, 0, (Str[]){page_int(p, order.v)}, 1);
    if (id_is(payment)) return words_fill(p, WORD_mail_topup, 0, (Str[]){page_int(p, payment.v)}, 1);
    return words_text(p->lang, WORD_mail_unknown);
}

Str addressee_amount(const struct page *p, Money amount, Str currency)
{
    struct page in = *p;
    if (currency.len) in.currency = currency;
    return page_money(&in, amount);
}
