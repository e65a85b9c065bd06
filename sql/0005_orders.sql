-- What was sold: orders, their items, what was delivered for each unit, and the licences.
-- @checked: see 0002_ledger.sql.

CREATE TABLE orders (
    id              @id,
    account_id      @int NOT NULL @checked(account),
    status          TEXT NOT NULL CHECK (status = 'confirmed' OR status = 'pending' OR status = 'cancelled' OR
                                         status = 'refunded'),
    channel         TEXT NOT NULL CHECK (channel IN ('api', 'cart')),
    paid_with       TEXT NOT NULL DEFAULT '',       -- wallet, free, manual, or a gateway's label; '' while pending
    subtotal        @int NOT NULL CHECK (subtotal >= 0),
    discount        @int NOT NULL DEFAULT 0 CHECK (discount >= 0),
    total           @int NOT NULL CHECK (total >= 0 AND total = subtotal - discount),
    coupon_id       @int REFERENCES coupon (id),
    coupon_code     TEXT NOT NULL DEFAULT '',
    refunded_amount @int NOT NULL DEFAULT 0 CHECK (refunded_amount BETWEEN 0 AND total),
    on_hold         @int NOT NULL DEFAULT 0 CHECK (on_hold IN (0, 1)), -- disputed at the gateway
    created_at      @int NOT NULL,
    confirmed_at    @int,
    closed_at       @int,                           -- cancelled or refunded
    reserved_until  @int,                           -- while it waits: how long its serial codes are kept; NULL: none are
    key_hash        @bytes,                         -- SQLite: the Idempotency-Key whose answer follows from this order, for 30 days
    request_hash    @bytes                          -- (domain/idempotency.h); both as in the table of that name
) @strict;
@postgres
CREATE INDEX orders_by_account ON orders (account_id, id);
CREATE INDEX orders_by_key ON orders (key_hash) WHERE key_hash IS NOT NULL; -- only a store that was moved here has them
@end
@sqlite
-- Which orders have a key: as idempotency_page. Not in backups.
CREATE TABLE orders_key_page (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, made_at INTEGER NOT NULL, keys BLOB NOT NULL) STRICT;
@end
CREATE INDEX orders_pending ON orders (id) WHERE status = 'pending'; -- counted; lists of one state walk down the ids
CREATE INDEX orders_by_coupon ON orders (coupon_id) WHERE coupon_id IS NOT NULL;
CREATE INDEX orders_by_day ON orders (confirmed_at) WHERE confirmed_at IS NOT NULL; -- sales of the last days
CREATE INDEX orders_reserved ON orders (reserved_until, id) WHERE reserved_until IS NOT NULL;
CREATE INDEX orders_reserved_of ON orders (account_id) WHERE reserved_until IS NOT NULL;
CREATE INDEX orders_on_hold ON orders (id) WHERE on_hold = 1;

CREATE TABLE order_item (
    id            @id,
    order_id      @int NOT NULL @checked(orders),
    product_id    @int NOT NULL REFERENCES product (id), -- a product that was sold cannot be deleted
    variant_id    @int NOT NULL DEFAULT 0,
    name          TEXT NOT NULL,                    -- its name at the time
    variant_name  TEXT NOT NULL DEFAULT '',
    delivery_type TEXT NOT NULL,
    quantity      @int NOT NULL CHECK (quantity BETWEEN 1 AND 1000),
    unit_price    @int NOT NULL CHECK (unit_price >= 0),
    subtotal      @int NOT NULL CHECK (subtotal >= 0)
) @strict;
CREATE INDEX order_item_by_order ON order_item (order_id, id);
CREATE INDEX order_item_by_product ON order_item (product_id); -- whether a product can be deleted

-- A redeemed coupon. Cancelling an order gives the use back.
CREATE TABLE coupon_use (
    order_id    @int PRIMARY KEY REFERENCES orders (id),
    coupon_id   @int NOT NULL REFERENCES coupon (id),
    account_id  @int NOT NULL REFERENCES account (id),
    created_at  @int NOT NULL,
    released_at @int
) @strict;
CREATE INDEX coupon_use_by_customer ON coupon_use (coupon_id, account_id, released_at); -- counted without reading the rows

CREATE TABLE license (
    id            @id,
    sealed_key    @bytes NOT NULL,                  -- as delivered, sealed, for its owner to read again
    key_hash      @bytes NOT NULL,                  -- 128 bits, keyed, of the normalised key: what verify looks up
    product_id    @int NOT NULL,                    -- that of the order item, if it has one; `souk check` looks
    variant_id    @int NOT NULL DEFAULT 0,
    account_id    @int NOT NULL @checked(account),
    order_item_id @int @checked(order_item),  -- NULL: granted by staff
    status        TEXT NOT NULL DEFAULT 'active' CHECK (status = 'active' OR status = 'revoked' OR status = 'refunded'),
    on_hold       @int NOT NULL DEFAULT 0 CHECK (on_hold IN (0, 1)), -- the order is disputed: verify says revoked
    reason        TEXT NOT NULL DEFAULT '',         -- of a revocation
    expires_at    @int,                             -- NULL: never
    hardware_id   TEXT,                             -- NULL: unbound
    bound_at      @int,
    created_at    @int NOT NULL,
    last_seen_at  @int,                             -- written in batches
    seen_count    @int NOT NULL DEFAULT 0
) @strict;
@postgres
CREATE UNIQUE INDEX license_key ON license (key_hash);
CREATE INDEX license_by_account ON license (account_id, id);
@end
-- Whether a product can be deleted: order_item_by_product knows of all the others.
CREATE INDEX license_granted ON license (product_id) WHERE order_item_id IS NULL;

-- Which licences were changed in what verification reads, by whom and however: servers keep licences in memory, and look here
-- first (domain/license_cache.h). A row is forgotten after some seconds; -n: those before transaction n were forgotten; 0: all
-- licences. New licences are not noted: what was never read is not in memory. Not in backups: the numbers mean nothing elsewhere.
@postgres
CREATE TABLE license_change (
    xid        BIGINT NOT NULL,                    -- of the transaction: seen by others together with its changes
    license_id BIGINT NOT NULL,
    PRIMARY KEY (xid, license_id)
);
CREATE OR REPLACE FUNCTION license_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO license_change (xid, license_id) VALUES (pg_current_xact_id()::text::bigint, 0) ON CONFLICT DO NOTHING;
    ELSE
        -- An id that somebody has made negative is none that can be noted.
        INSERT INTO license_change (xid, license_id) VALUES (pg_current_xact_id()::text::bigint, GREATEST(OLD.id, 0)) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
-- Whatever path the session has, and even if it has a temporary table of that name.
DO $$ BEGIN EXECUTE format('ALTER FUNCTION license_changed() SET search_path = %I, pg_temp', current_schema()); END $$;
CREATE TRIGGER license_updated
    AFTER UPDATE OF id, key_hash, product_id, account_id, status, on_hold, expires_at, hardware_id ON license
    FOR EACH ROW EXECUTE FUNCTION license_changed();
CREATE TRIGGER license_deleted AFTER DELETE ON license FOR EACH ROW EXECUTE FUNCTION license_changed();
CREATE TRIGGER license_emptied AFTER TRUNCATE ON license FOR EACH STATEMENT EXECUTE FUNCTION license_changed();
-- Also where changes are replayed.
ALTER TABLE license ENABLE ALWAYS TRIGGER license_updated;
ALTER TABLE license ENABLE ALWAYS TRIGGER license_deleted;
ALTER TABLE license ENABLE ALWAYS TRIGGER license_emptied;
-- When a licence was last seen is written beside its row, so that no index is touched.
ALTER TABLE license SET (fillfactor = 85);
@end

-- One row per delivered unit; the unique key makes a second delivery of a unit impossible.
CREATE TABLE delivery (
    id            @id,
    order_item_id @int NOT NULL @checked(order_item),
    unit          @int NOT NULL CHECK (unit >= 1),  -- 1 … quantity
    type          TEXT NOT NULL CHECK (type = 'license_key' OR type = 'serial_code' OR type = 'download_url'),
    license_id    @int @checked(license),
    serial_id     @int @checked(serial),
    fetch_count   @int NOT NULL DEFAULT 0,          -- downloads: how often it was fetched
    fetch_max     @int,                             -- NULL: no limit
    fetched_at    @int,                             -- when the latest of them began: it may be resumed for a while
    expires_at    @int,                             -- downloads: until when; NULL: for ever
    is_revoked    @int NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1)), -- refunded: downloads answer 404
    created_at    @int NOT NULL,
    UNIQUE (order_item_id, unit)
) @strict;
-- Each is delivered once, ever.
CREATE UNIQUE INDEX delivery_license ON delivery (license_id) WHERE license_id IS NOT NULL;
CREATE UNIQUE INDEX delivery_serial ON delivery (serial_id) WHERE serial_id IS NOT NULL;

-- Whose orders and licences are whose, the transfers out of a wallet, and the keys of licences by their hashes: filed many at once
-- (domain/filing.h), as far as `up_to`. Behind it those up to `until` are being filed, of owners up to `owner` they have been. Not
-- in backups: a server files everything when it starts.
@sqlite
CREATE TABLE orders_filed (account_id INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (account_id, id)) STRICT, WITHOUT ROWID;
CREATE TABLE license_filed (account_id INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (account_id, id)) STRICT, WITHOUT ROWID;
CREATE TABLE transfer_filed (debit_id INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (debit_id, id)) STRICT, WITHOUT ROWID;
CREATE TABLE license_key_filed (key_start BLOB NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (key_start, id)) STRICT, WITHOUT ROWID;
CREATE TABLE filing (list TEXT PRIMARY KEY, up_to INTEGER NOT NULL, until INTEGER NOT NULL, owner INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO filing (list, up_to, until, owner) VALUES ('orders', 0, 0, 0), ('license', 0, 0, 0), ('transfer', 0, 0, 0),
    ('license_key', 0, 0, 0);
-- For those who change rows by hand: what was filed before is filed again, and an id may be given once more. The program
-- itself neither deletes these rows nor gives them to others; it replaces keys of licences.
CREATE TRIGGER orders_gone AFTER DELETE ON orders BEGIN
    DELETE FROM orders_filed WHERE account_id = OLD.account_id AND id = OLD.id;
    UPDATE filing SET up_to = MIN(up_to, OLD.id - 1) WHERE list = 'orders';
END;
CREATE TRIGGER orders_moved AFTER UPDATE OF id, account_id ON orders BEGIN
    DELETE FROM orders_filed WHERE account_id = OLD.account_id AND id = OLD.id;
    UPDATE filing SET up_to = MIN(up_to, OLD.id - 1, NEW.id - 1) WHERE list = 'orders';
END;
CREATE TRIGGER license_gone AFTER DELETE ON license BEGIN
    DELETE FROM license_filed WHERE account_id = OLD.account_id AND id = OLD.id;
    DELETE FROM license_key_filed WHERE key_start = substr(OLD.key_hash, 1, 8) AND id = OLD.id;
    UPDATE filing SET up_to = MIN(up_to, OLD.id - 1) WHERE list IN ('license', 'license_key');
END;
CREATE TRIGGER license_moved AFTER UPDATE OF id, account_id ON license BEGIN
    DELETE FROM license_filed WHERE account_id = OLD.account_id AND id = OLD.id;
    UPDATE filing SET up_to = MIN(up_to, OLD.id - 1, NEW.id - 1) WHERE list = 'license';
END;
CREATE TRIGGER license_key_changed AFTER UPDATE OF id, key_hash ON license BEGIN
    DELETE FROM license_key_filed WHERE key_start = substr(OLD.key_hash, 1, 8) AND id = OLD.id;
    INSERT OR IGNORE INTO license_key_filed (key_start, id) VALUES (substr(NEW.key_hash, 1, 8), NEW.id);
    UPDATE filing SET up_to = MIN(up_to, OLD.id - 1) WHERE list = 'license_key' AND OLD.id <> NEW.id;
END;
CREATE TRIGGER transfer_gone AFTER DELETE ON transfer BEGIN
    DELETE FROM transfer_filed WHERE debit_id = OLD.debit_id AND id = OLD.id;
    UPDATE filing SET up_to = MIN(up_to, OLD.id - 1) WHERE list = 'transfer';
END;
CREATE TRIGGER transfer_moved AFTER UPDATE OF id, debit_id ON transfer BEGIN
    DELETE FROM transfer_filed WHERE debit_id = OLD.debit_id AND id = OLD.id;
    UPDATE filing SET up_to = MIN(up_to, OLD.id - 1, NEW.id - 1) WHERE list = 'transfer';
END;
@end
