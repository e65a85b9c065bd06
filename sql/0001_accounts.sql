-- Who may do what: accounts, tokens, settings, and the answers kept for idempotency keys.
-- Times are milliseconds since 1970 UTC. Money is minor units of the store's currency. Flags are 0 or 1.

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,          -- currency, store_name, rate_v1, …
    value TEXT NOT NULL
) @norowid;

-- What caches watch: a change bumps the number in the same transaction.
CREATE TABLE revision (
    name   TEXT PRIMARY KEY,         -- catalog, settings
    number @int NOT NULL
) @norowid;
INSERT INTO revision (name, number) VALUES ('catalog', 1), ('settings', 1);

-- Backups that were made, see domain/backup_record.h.
CREATE TABLE backup (
    id          @id,
    name        TEXT NOT NULL,       -- of the file, without its folder
    bytes       @int NOT NULL,       -- its length
    row_count   @int NOT NULL,
    made_at     @int NOT NULL,       -- when its snapshot began
    verified_at @int,                -- when it was restored and checked; NULL: it was not
    CHECK (bytes >= 0 AND row_count >= 0)
) @strict;

CREATE TABLE account (
    id            @id,
    email         TEXT NOT NULL UNIQUE,             -- lower-case
    name          TEXT NOT NULL DEFAULT '',
    password_hash TEXT,                             -- argon2id text; NULL: cannot log in with a password
    role          TEXT NOT NULL DEFAULT 'customer' CHECK (role IN ('customer', 'staff', 'owner')),
    is_active     @int NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    is_unproven   @int NOT NULL DEFAULT 0 CHECK (is_unproven IN (0, 1)), -- self-registered, and nobody has proved yet that they can read its mail
    language      TEXT NOT NULL DEFAULT '',         -- code of the language last read in the shop; '': not known
    created_at    @int NOT NULL
) @strict;
CREATE INDEX account_staff ON account (id) WHERE role <> 'customer'; -- few among very many

-- One-time links in e-mails, see domain/mail_link.h.
CREATE TABLE mail_link (
    hash       @bytes PRIMARY KEY,                  -- keyed hash of purpose and token; the text is in the message alone
    account_id @int NOT NULL REFERENCES account (id),
    purpose    TEXT NOT NULL CHECK (purpose IN ('reset', 'verify', 'email')),
    email      TEXT NOT NULL DEFAULT '',            -- of 'email': the new address, which the link was sent to
    created_at @int NOT NULL,                       -- counts for the hour
    is_open    @int NOT NULL DEFAULT 1 CHECK (is_open IN (0, 1)), -- 0: used, or made void by another
    expires_at @int NOT NULL                        -- brought forward when the link is used
) @norowid;
CREATE INDEX mail_link_by_account ON mail_link (account_id, purpose, created_at);
CREATE INDEX mail_link_by_end ON mail_link (expires_at);

-- Words of mails that the merchant has changed; where there is no row, those of the program are used.
CREATE TABLE mail_words (
    kind       TEXT NOT NULL,                       -- as in web/shop/mail/kinds
    language   TEXT NOT NULL,                       -- a code: en, de, …
    subject    TEXT NOT NULL,
    body       TEXT NOT NULL,                       -- Markdown with {{parameters}}
    updated_at @int NOT NULL,
    PRIMARY KEY (kind, language)
) @norowid;

CREATE TABLE token (
    id         @id_kept,
    account_id @int REFERENCES account (id),        -- NULL: a guest in the shop
    kind       TEXT NOT NULL CHECK (kind IN ('login', 'api', 'shop', 'cart')), -- shop: a browser's session, its text in a
                                                    -- cookie; cart: no text at all, it holds a customer's cart in the shop
    name       TEXT NOT NULL DEFAULT '',
    hash       @bytes NOT NULL UNIQUE,              -- keyed hash of the text; the text itself is stored nowhere
    hint       TEXT NOT NULL,                       -- last 4 characters, to tell tokens apart in a list
    scopes     @int NOT NULL,                       -- bit set, see domain/token.h
    created_at @int NOT NULL,
    expires_at @int,                                -- NULL: never
    confirmed_at @int,                              -- of a login: when password and code were last proved
    last_used_at @int,                              -- of a login: written in batches, a minute late at most
    network    TEXT NOT NULL DEFAULT '',            -- where a login came from: an IPv4 address, or an IPv6 /64
    CHECK (account_id IS NOT NULL OR kind = 'shop')
) @strict;
CREATE INDEX token_by_account ON token (account_id, id);
CREATE UNIQUE INDEX token_cart ON token (account_id) WHERE kind = 'cart';
CREATE INDEX token_by_end ON token (expires_at) WHERE expires_at IS NOT NULL; -- for the purge

-- One row per Idempotency-Key: written in the transaction of the effect, so both exist or neither. Rows are only ever added at the
-- end. SQLite has no index by the hash, which would be a scattered page for every key: its one writer keeps that in memory, see
-- domain/key_index.h.
CREATE TABLE idempotency (
    id           @id,                               -- grows with time: old ones are forgotten from the front
    account_id   @int NOT NULL,                     -- 0: a caller without an account
    key_hash     @bytes NOT NULL,                   -- 128 bits, keyed, of account, route and key
    request_hash @bytes NOT NULL,                   -- as many, of target and body: another request under the same key is refused
    status       @int NOT NULL DEFAULT 0,           -- 0: claimed, no answer yet
    answer       @bytes,                            -- sealed with the master key: answers may hold tokens and keys
    counted_of   @int,                              -- the account, of a short answer that is counted: it keeps a limited number;
                                                    -- minus the account, of a long one: it keeps a limited number of bytes
    created_at   @int NOT NULL
) @strict;
@postgres
CREATE UNIQUE INDEX idempotency_key ON idempotency (account_id, key_hash);
@end
@sqlite
-- Which keys there are, read when a server starts: some thousand rows each, 16 bytes for a row (domain/key_pages.h). Not in
-- backups. No page may reach beyond the last row, whose number is given again when it has gone.
CREATE TABLE idempotency_page (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, keys BLOB NOT NULL) STRICT;
CREATE TRIGGER idempotency_gone AFTER DELETE ON idempotency BEGIN
    DELETE FROM idempotency_page WHERE last > COALESCE((SELECT MAX(id) FROM idempotency), 0);
END;
@end
CREATE INDEX idempotency_counted ON idempotency (counted_of, id) WHERE counted_of IS NOT NULL;
