-- What is sold: products, their variants, pools of serial codes, coupons; and carts.

CREATE TABLE product (
    id             @id_kept,
    slug           TEXT NOT NULL UNIQUE,
    name           TEXT NOT NULL,
    description    TEXT NOT NULL DEFAULT '',
    price          @int NOT NULL CHECK (price >= 0), -- of the product without variants
    delivery_type  TEXT NOT NULL CHECK (delivery_type IN ('license_key', 'serial_code', 'download_url')),
    is_active      @int NOT NULL DEFAULT 0 CHECK (is_active IN (0, 1)), -- drafts and disabled ones are 0
    position       @int NOT NULL DEFAULT 0,         -- order in the catalogue, then id
    license_days   @int CHECK (license_days > 0),   -- validity of a licence; NULL: for ever
    key_prefix     TEXT NOT NULL DEFAULT '',        -- in front of generated keys
    download_url   TEXT NOT NULL DEFAULT '',        -- an external address instead of a file of ours
    download_limit @int CHECK (download_limit > 0), -- how often one delivery may be fetched; NULL: no limit
    download_days  @int CHECK (download_days > 0),  -- how long; NULL: for ever
    file_name      TEXT NOT NULL DEFAULT '',        -- as shown to the buyer; '' without a file
    file_key       TEXT NOT NULL DEFAULT '',        -- name in the data folder
    file_bytes     @int NOT NULL DEFAULT 0,
    created_at     @int NOT NULL,
    updated_at     @int NOT NULL,
    version        @int NOT NULL DEFAULT 1          -- grows with every change: the ETag for staff
) @strict;

CREATE TABLE variant (
    id           @id_kept,
    product_id   @int NOT NULL REFERENCES product (id),
    name         TEXT NOT NULL,
    price        @int NOT NULL CHECK (price >= 0),
    is_default   @int NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),
    is_active    @int NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    license_days @int CHECK (license_days > 0)      -- NULL: the product's
) @strict;
CREATE INDEX variant_by_product ON variant (product_id, is_default DESC, id); -- in the order in which they are shown
CREATE UNIQUE INDEX variant_default ON variant (product_id) WHERE is_default = 1;

-- A serial is sold at most once, ever: taken_by is set by a conditional update, and cleared only while it is reserved for
-- an order that waits (domain/reservation.h).
CREATE TABLE serial (
    id         @id,
    product_id @int NOT NULL REFERENCES product (id),
    variant_id @int NOT NULL DEFAULT 0,             -- 0: fits every variant of the product
    code_hash  @bytes NOT NULL,                     -- 128 bits, keyed: what makes a code unique
    sealed_code @bytes NOT NULL,
    taken_by   @int,                                -- order item; NULL: in the pool
    taken_at   @int,
    status     TEXT NOT NULL DEFAULT 'good' CHECK (status IN ('good', 'reserved', 'refunded', 'replaced')), -- replaced: the
                                                    -- buyer has got another one for it
    UNIQUE (product_id, code_hash)
) @strict;
CREATE INDEX serial_pool ON serial (product_id, variant_id, id) WHERE taken_by IS NULL;
CREATE INDEX serial_by_product ON serial (product_id, id); -- staff reads the newest codes of a large pool
CREATE INDEX serial_by_item ON serial (taken_by) WHERE taken_by IS NOT NULL;

-- What staff were told to be low on codes, until it is filled up: domain/stock_notice.h.
CREATE TABLE stock_notice (
    product_id @int NOT NULL,                       -- may be deleted: the row goes at the next look
    variant_id @int NOT NULL,                       -- 0: the product has none
    is_empty   @int NOT NULL DEFAULT 0 CHECK (is_empty IN (0, 1)), -- that the last one is gone was told, too
    told_at    @int NOT NULL,
    PRIMARY KEY (product_id, variant_id)
) @norowid;

CREATE TABLE coupon (
    id         @id_kept,
    code       TEXT NOT NULL UNIQUE,                -- upper-case
    kind       TEXT NOT NULL CHECK (kind IN ('percent', 'fixed')),
    value      @int NOT NULL CHECK (value > 0),     -- hundredths of a percent, or minor units
    min_total  @int NOT NULL DEFAULT 0 CHECK (min_total >= 0),
    starts_at  @int,
    expires_at @int,
    max_uses   @int CHECK (max_uses > 0),           -- NULL: no limit
    max_uses_per_customer @int DEFAULT 1 CHECK (max_uses_per_customer > 0), -- NULL: no limit
    is_active  @int NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    uses       @int NOT NULL DEFAULT 0,             -- guarded: never above max_uses; 0 without it: nothing is counted here
    created_at @int NOT NULL,
    version    @int NOT NULL DEFAULT 1,
    CHECK (max_uses IS NULL OR uses <= max_uses),
    CHECK (kind = 'fixed' OR value <= 10000)
) @strict;

-- The products that a coupon is for; none: all of them.
CREATE TABLE coupon_product (
    coupon_id  @int NOT NULL REFERENCES coupon (id),
    product_id @int NOT NULL REFERENCES product (id),
    PRIMARY KEY (coupon_id, product_id)
) @norowid;

-- One token is one cart.
CREATE TABLE cart (
    token_id   @int PRIMARY KEY REFERENCES token (id) ON DELETE CASCADE,
    coupon_id  @int REFERENCES coupon (id),
    updated_at @int NOT NULL
) @strict;
CREATE INDEX cart_by_coupon ON cart (coupon_id) WHERE coupon_id IS NOT NULL; -- what is in a cart is not deleted

CREATE TABLE cart_line (
    id         @id,
    token_id   @int NOT NULL REFERENCES cart (token_id) ON DELETE CASCADE,
    product_id @int NOT NULL REFERENCES product (id),
    variant_id @int NOT NULL DEFAULT 0,             -- 0: the product has no variants
    quantity   @int NOT NULL CHECK (quantity BETWEEN 1 AND 1000),
    unit_price @int NOT NULL CHECK (unit_price >= 0), -- when it was last added
    priced_at  @int NOT NULL,                       -- since when unit_price holds
    UNIQUE (token_id, product_id, variant_id)
) @strict;
CREATE INDEX cart_line_by_product ON cart_line (product_id);
CREATE INDEX cart_line_by_variant ON cart_line (variant_id) WHERE variant_id <> 0;

-- The merchant's own pages in the shop: terms, privacy, imprint …
CREATE TABLE own_page (
    id         @id_kept,
    slug       TEXT NOT NULL UNIQUE,                -- /page/{slug}
    title      TEXT NOT NULL,
    body       TEXT NOT NULL DEFAULT '',            -- Markdown
    in_footer  @int NOT NULL DEFAULT 1 CHECK (in_footer IN (0, 1)),
    updated_at @int NOT NULL
) @strict;

-- Pictures by their content: the same bytes are kept once. In the database, so that every node has them and backups too.
CREATE TABLE media (
    hash @bytes PRIMARY KEY,                        -- 128 bits of BLAKE2b over the bytes: /media/{hash}.{type}
    type TEXT NOT NULL CHECK (type IN ('png', 'jpg', 'webp', 'avif')),
    data @bytes NOT NULL
) @norowid;

CREATE TABLE image (
    id         @id_kept,
    product_id @int NOT NULL REFERENCES product (id) ON DELETE CASCADE,
    hash       @bytes NOT NULL REFERENCES media (hash),
    alt        TEXT NOT NULL DEFAULT '',            -- what it shows, for those who cannot see it
    position   @int NOT NULL                        -- order of the product's pictures, then id
) @strict;
CREATE INDEX image_by_product ON image (product_id, position, id);
