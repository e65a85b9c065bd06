-- Staff: second factors, the first owner, and who changed what.

ALTER TABLE account ADD COLUMN totp_secret @bytes;                    -- sealed; NULL: no second factor
ALTER TABLE account ADD COLUMN totp_is_on @int NOT NULL DEFAULT 0 CHECK (totp_is_on IN (0, 1)); -- 0 until a first code was right
ALTER TABLE account ADD COLUMN totp_step @int NOT NULL DEFAULT 0;      -- time step of the last code that was taken: none is taken twice

CREATE TABLE recovery_code (
    account_id @int NOT NULL REFERENCES account (id),
    hash       @bytes NOT NULL,                     -- keyed hash; deleted when used
    PRIMARY KEY (account_id, hash)
) @norowid;

-- The one-time link for the first owner. At most one row; the caller who deletes it has won.
CREATE TABLE setup_token (
    hash       @bytes PRIMARY KEY,
    created_at @int NOT NULL
) @norowid;

CREATE TABLE audit (
    id          @id,
    actor_id    @int REFERENCES account (id),       -- NULL: the command line
    action      TEXT NOT NULL,                      -- product.update, withdrawal.approve, …
    resource_id @int NOT NULL DEFAULT 0,
    label       TEXT NOT NULL DEFAULT '',           -- what a person would call it, for lists
    before      TEXT,                               -- JSON; NULL where there was nothing
    after       TEXT,                               -- JSON; NULL where nothing is left
    request_id  TEXT NOT NULL DEFAULT '',
    address     TEXT NOT NULL DEFAULT '',
    created_at  @int NOT NULL
) @strict;
CREATE INDEX audit_by_actor ON audit (actor_id, id);
CREATE INDEX audit_by_action ON audit (action, id);
CREATE INDEX audit_by_resource ON audit (resource_id, id);

-- What a row of another system became when it was imported: an import can be repeated, and later ones refer to it.
CREATE TABLE import_reference (
    kind       TEXT NOT NULL CHECK (kind IN ('products', 'variants', 'customers', 'licenses', 'serials', 'wallets')),
    ref        TEXT NOT NULL,                       -- its name there
    target     @int NOT NULL,                       -- product or account; of a balance: the account
    created_at @int NOT NULL,
    PRIMARY KEY (kind, ref)
) @norowid;
