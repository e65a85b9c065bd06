-- Money that comes through gateways: how each is connected, the payments made there, what they told us, and the work
-- that leaves this server (calls to gateways, e-mail).

CREATE TABLE gateway (
    id         @id_kept,
    label      TEXT NOT NULL UNIQUE,                -- the store's own name for it: pay_with, POST /webhook/{label}
    provider   TEXT NOT NULL CHECK (provider IN ('stripe', 'razorpay', 'paypal', 'btcpay', 'sandbox')),
    is_enabled @int NOT NULL DEFAULT 0 CHECK (is_enabled IN (0, 1)),
    mode       TEXT NOT NULL DEFAULT 'test' CHECK (mode IN ('test', 'live')), -- whether its money is real
    secrets    @bytes,                              -- sealed: webhook secrets, one per line, the newest first; NULL: none
    api_key    @bytes,                              -- sealed; NULL: webhooks only
    api_secret @bytes,                              -- sealed; NULL: none
    webhook_id TEXT NOT NULL DEFAULT '',            -- paypal
    store_id   TEXT NOT NULL DEFAULT '',            -- btcpay
    base_url   TEXT NOT NULL DEFAULT '',            -- '': the provider's own
    ca_bundle  TEXT NOT NULL DEFAULT '',            -- paypal: who may issue its message certificates, PEM
    updated_at @int NOT NULL DEFAULT 0,
    version    @int NOT NULL DEFAULT 1
) @strict;
INSERT INTO gateway (label, provider) VALUES ('card_gateway_a', 'stripe');
INSERT INTO gateway (label, provider) VALUES ('card_gateway_b', 'razorpay');
INSERT INTO gateway (label, provider) VALUES ('wallet_gateway', 'paypal');
INSERT INTO gateway (label, provider) VALUES ('crypto_gateway', 'btcpay');
INSERT INTO gateway (label, provider) VALUES ('sandbox', 'sandbox');

-- One per order that is paid through a gateway, and one per top-up of a wallet. Committed before the gateway is called.
CREATE TABLE payment (
    id             @id,
    gateway_id     @int NOT NULL REFERENCES gateway (id),
    account_id     @int NOT NULL REFERENCES account (id),
    order_id       @int UNIQUE REFERENCES orders (id), -- NULL: a top-up
    reference      TEXT NOT NULL UNIQUE,            -- ours: makes repeated calls to the gateway harmless
    status         TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'failed', 'succeeded', 'refunded')),
    amount         @int NOT NULL CHECK (amount > 0),
    currency       TEXT NOT NULL,
    group_ref      TEXT,                            -- the gateway's name of what we made: session, link, order, invoice
    payment_ref    TEXT,                            -- the gateway's name of what was paid
    url            TEXT NOT NULL DEFAULT '',        -- where the customer pays; '': not known
    success_url    TEXT NOT NULL DEFAULT '',        -- where the customer wants to be sent afterwards
    cancel_url     TEXT NOT NULL DEFAULT '',
    refunded_total @int NOT NULL DEFAULT 0 CHECK (refunded_total BETWEEN 0 AND amount), -- told by the gateway, or asked for
    refunded_booked @int NOT NULL DEFAULT 0 CHECK (refunded_booked BETWEEN 0 AND refunded_total), -- of that, in the ledger
    is_disputed    @int NOT NULL DEFAULT 0 CHECK (is_disputed IN (0, 1)),
    created_at     @int NOT NULL,
    expires_at     @int,                            -- of the payment page
    succeeded_at   @int,
    CHECK (status <> 'refunded' OR refunded_total = amount)
) @strict;
CREATE UNIQUE INDEX payment_by_group ON payment (gateway_id, group_ref) WHERE group_ref IS NOT NULL;
CREATE UNIQUE INDEX payment_by_ref ON payment (gateway_id, payment_ref) WHERE payment_ref IS NOT NULL;
CREATE INDEX payment_by_account ON payment (account_id, id);

-- What gateways told us: written in the transaction of its effect, once per event.
CREATE TABLE webhook_event (
    id             @id,
    gateway_id     @int NOT NULL REFERENCES gateway (id),
    event_id       TEXT NOT NULL,                   -- the gateway's, or ours for what we asked ourselves
    delivery_id    TEXT,                            -- of a signed envelope: never seen with two bodies
    type           TEXT NOT NULL,                   -- the gateway's word
    kind           TEXT NOT NULL,                   -- ours, see domain/payment_event.h
    status         TEXT NOT NULL CHECK (status IN ('handled', 'unmatched', 'review', 'ignored')),
    reason         TEXT NOT NULL DEFAULT '',        -- why it is not handled, or what it did
    payment_id     @int REFERENCES payment (id),    -- NULL: fits none
    payment_ref    TEXT NOT NULL DEFAULT '',
    group_ref      TEXT NOT NULL DEFAULT '',
    order_ref      TEXT NOT NULL DEFAULT '',
    refund_ref     TEXT NOT NULL DEFAULT '',
    amount         @int,                            -- NULL: not said
    currency       TEXT NOT NULL DEFAULT '',
    refunded_total @int,                            -- NULL: not said
    outcome        TEXT CHECK (outcome IN ('won', 'lost', 'withdrawn')), -- of a dispute that ended
    due_at         @int,                            -- until when a dispute has to be answered
    mode           TEXT NOT NULL DEFAULT '',        -- test, live, or '' where the gateway does not say
    body           @bytes NOT NULL,                 -- as received
    body_hash      @bytes NOT NULL,                 -- SHA-256
    occurred_at    @int,
    received_at    @int NOT NULL,
    UNIQUE (gateway_id, event_id)
) @strict;
CREATE UNIQUE INDEX webhook_event_by_delivery ON webhook_event (gateway_id, delivery_id) WHERE delivery_id IS NOT NULL;
CREATE INDEX webhook_event_by_status ON webhook_event (status, id);
CREATE INDEX webhook_event_by_payment ON webhook_event (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX webhook_event_unmatched ON webhook_event (gateway_id, id) WHERE status = 'unmatched';

-- Work that leaves this server. A row is taken by moving `due_at` on, so that no two workers have it at once and none is
-- lost when a worker dies.
CREATE TABLE outbox (
    id         @id,
    kind       TEXT NOT NULL CHECK (kind IN ('create', 'capture', 'refund', 'ask', 'mail', 'sandbox', 'reset')),
    payment_id @int REFERENCES payment (id),        -- NULL: not about a payment
    amount     @int,                                -- refund: how much
    payload    @bytes,                              -- sealed: create (the body of the call), mail, sandbox and reset; dropped when it is done
    status     TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'done', 'failed')),
    attempts   @int NOT NULL DEFAULT 0,
    due_at     @int NOT NULL,
    last_error TEXT NOT NULL DEFAULT '',
    created_at @int NOT NULL,
    done_at    @int
) @strict;
CREATE INDEX outbox_due ON outbox (due_at) WHERE status = 'waiting';
CREATE INDEX outbox_by_payment ON outbox (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX outbox_by_age ON outbox (done_at) WHERE done_at IS NOT NULL;

-- The sandbox gateway's own books: it is a party of its own that happens to live in this program.
CREATE TABLE sandbox_payment (
    id          @id,
    ref         TEXT NOT NULL UNIQUE,               -- in its address; cannot be guessed
    reference   TEXT NOT NULL UNIQUE,               -- the merchant's: a repeated request finds it
    order_ref   TEXT NOT NULL,
    description TEXT NOT NULL,
    amount      @int NOT NULL CHECK (amount > 0),
    currency    TEXT NOT NULL,
    refunded    @int NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND amount),
    status      TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'failed')),
    success_url TEXT NOT NULL DEFAULT '',
    cancel_url  TEXT NOT NULL DEFAULT '',
    created_at  @int NOT NULL
) @strict;
CREATE TABLE sandbox_refund (
    id         @id,
    payment_id @int NOT NULL REFERENCES sandbox_payment (id),
    key        TEXT NOT NULL UNIQUE,                -- of the request: a repeated one finds it
    amount     @int NOT NULL CHECK (amount > 0)
) @strict;
