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
    ca_bundle  TEXT NOT NULL DEFAULT '',            -- paypal: PEM of the authorities that issue its message certificates
    tolerance  @int NOT NULL DEFAULT 0 CHECK (tolerance BETWEEN 0 AND 10000), -- how far off an amount may be: hundredths of a percent
    underpaid  TEXT NOT NULL DEFAULT 'review' CHECK (underpaid IN ('credit', 'refund', 'review')), -- what happens to an underpayment,
    overpaid   TEXT NOT NULL DEFAULT 'review' CHECK (overpaid IN ('credit', 'refund', 'review')),  -- an overpayment,
    late       TEXT NOT NULL DEFAULT 'accept' CHECK (late IN ('accept', 'credit', 'refund', 'review')), -- and late money
    updated_at @int NOT NULL DEFAULT 0,
    version    @int NOT NULL DEFAULT 1
) @strict;
INSERT INTO gateway (label, provider) VALUES ('card_gateway_a', 'stripe');
INSERT INTO gateway (label, provider) VALUES ('card_gateway_b', 'razorpay');
INSERT INTO gateway (label, provider) VALUES ('wallet_gateway', 'paypal');
INSERT INTO gateway (label, provider) VALUES ('crypto_gateway', 'btcpay');
INSERT INTO gateway (label, provider) VALUES ('sandbox', 'sandbox');

-- One per attempt to pay an order through a gateway, and one per top-up of a wallet. Committed before the gateway is called.
CREATE TABLE payment (
    id             @id,
    gateway_id     @int NOT NULL REFERENCES gateway (id),
    account_id     @int NOT NULL REFERENCES account (id),
    order_id       @int REFERENCES orders (id),     -- NULL: a top-up
    reference      TEXT NOT NULL UNIQUE,            -- ours: makes repeated calls to the gateway harmless
    status         TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'failed', 'succeeded', 'expired', 'closed')),
    amount         @int NOT NULL CHECK (amount > 0),
    currency       TEXT NOT NULL,
    group_ref      TEXT,                            -- the gateway's name of what we made: session, link, order, invoice
    payment_ref    TEXT,                            -- the gateway's name of what was paid
    url            TEXT NOT NULL DEFAULT '',        -- where the customer pays; '': not known
    success_url    TEXT NOT NULL DEFAULT '',        -- where the customer wants to be sent afterwards
    cancel_url     TEXT NOT NULL DEFAULT '',
    received       @int NOT NULL DEFAULT 0 CHECK (received >= 0), -- has arrived, as the gateway says
    waiting        @int NOT NULL DEFAULT 0 CHECK (waiting >= 0),  -- of that, not yet sold, credited or given back
    credited       @int NOT NULL DEFAULT 0 CHECK (credited >= 0), -- of that, put into the wallet
    refunded_total @int NOT NULL DEFAULT 0 CHECK (refunded_total >= 0), -- given back, as the gateway says
    lost_total     @int NOT NULL DEFAULT 0 CHECK (lost_total >= 0),     -- lost in disputes or reversed, whichever is more
    returned       @int NOT NULL DEFAULT 0 CHECK (returned BETWEEN 0 AND received), -- of the last two, in the ledger
    paid_order     @int NOT NULL DEFAULT 0 CHECK (paid_order IN (0, 1)), -- its order was confirmed with it
    is_disputed    @int NOT NULL DEFAULT 0 CHECK (is_disputed IN (0, 1)),
    created_at     @int NOT NULL,
    expires_at     @int,                            -- of the payment page
    ends_at        @int,                            -- when the gateway is asked a last time and it is closed
    ended_at       @int,                            -- when it succeeded or no longer could; NULL: it still can
    succeeded_at   @int
) @strict;
CREATE INDEX payment_by_order ON payment (order_id, id) WHERE order_id IS NOT NULL;
CREATE UNIQUE INDEX payment_paying ON payment (order_id) WHERE paid_order = 1; -- an order is paid for once
CREATE UNIQUE INDEX payment_by_group ON payment (gateway_id, group_ref) WHERE group_ref IS NOT NULL;
CREATE UNIQUE INDEX payment_by_ref ON payment (gateway_id, payment_ref) WHERE payment_ref IS NOT NULL;
CREATE INDEX payment_by_account ON payment (account_id, id);
CREATE INDEX payment_open ON payment (id) WHERE ended_at IS NULL;      -- how many there are, and how much waits:
CREATE INDEX payment_waiting ON payment (waiting) WHERE waiting > 0;   -- figures for the operator
CREATE INDEX payment_by_success ON payment (gateway_id, succeeded_at) WHERE succeeded_at IS NOT NULL; -- what a day's report lists

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
CREATE INDEX webhook_event_with_body ON webhook_event (received_at) WHERE LENGTH(body) > 0 AND status IN ('handled', 'ignored'); -- bodies are kept for a while
CREATE INDEX webhook_event_by_payment ON webhook_event (payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX webhook_event_unmatched ON webhook_event (gateway_id, id) WHERE status = 'unmatched';

-- Money on its way back. Booked when the gateway has agreed, never before.
CREATE TABLE refund (
    id           @id,
    payment_id   @int REFERENCES payment (id),      -- NULL: the order was not paid through a gateway
    order_id     @int REFERENCES orders (id),       -- NULL: of a top-up
    amount       @int NOT NULL CHECK (amount > 0),
    status       TEXT NOT NULL CHECK (status IN ('requested', 'done', 'failed')),
    reason       TEXT NOT NULL DEFAULT '',          -- why it is given back
    error        TEXT NOT NULL DEFAULT '',          -- why it failed
    note         TEXT NOT NULL DEFAULT '',          -- of staff who settled it outside
    refund_ref   TEXT NOT NULL DEFAULT '',          -- the gateway's name
    claim_url    TEXT NOT NULL DEFAULT '',          -- btcpay: where the customer claims it
    tries        @int NOT NULL DEFAULT 0,           -- how often the gateway refused it: part of the call's key
    is_outside   @int NOT NULL DEFAULT 0 CHECK (is_outside IN (0, 1)), -- made at the gateway itself
    requested_by @int REFERENCES account (id),      -- NULL: nobody
    requested_at @int NOT NULL,
    done_at      @int
) @strict;
CREATE INDEX refund_by_payment ON refund (payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX refund_by_order ON refund (order_id, id) WHERE order_id IS NOT NULL;
CREATE INDEX refund_open ON refund (status, amount) WHERE status <> 'done'; -- figures for the operator
CREATE INDEX refund_by_time ON refund (requested_at); -- what reconciliation compares

-- A customer's bank or the provider asks for a payment's money back. Decided once.
CREATE TABLE dispute (
    id         @id,
    payment_id @int NOT NULL REFERENCES payment (id),
    ref        TEXT NOT NULL,                       -- the provider's name; '': it has none
    status     TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'won', 'lost', 'withdrawn')),
    amount     @int NOT NULL CHECK (amount >= 0),   -- disputed
    lost       @int NOT NULL DEFAULT 0 CHECK (lost >= 0), -- taken back for good
    frozen     @int NOT NULL DEFAULT 0 CHECK (frozen >= 0), -- of the wallet, while a top-up's is open
    due_at     @int,                                -- until when it has to be answered; NULL: not said
    opened_at  @int NOT NULL,
    closed_at  @int,
    UNIQUE (payment_id, ref),
    CHECK (lost = 0 OR status = 'lost')
) @strict;
CREATE INDEX dispute_open ON dispute (id) WHERE status = 'open';            -- figures for the operator
CREATE INDEX dispute_by_time ON dispute (opened_at); -- what reconciliation compares

-- Money that a provider took back without naming a dispute. It is the same money that disputes were lost for.
CREATE TABLE reversal (
    id         @id,
    payment_id @int NOT NULL REFERENCES payment (id),
    ref        TEXT NOT NULL,                       -- the provider's name
    amount     @int NOT NULL CHECK (amount >= 0),
    at         @int NOT NULL,
    UNIQUE (payment_id, ref)
) @strict;

-- What waits for a person. Settled once.
CREATE TABLE review (
    id         @id,
    kind       TEXT NOT NULL CHECK (kind IN ('unmatched', 'amount', 'late', 'stock', 'refund_failed', 'dispute', 'duplicate',
                                             'reconciliation')),
    status     TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'settled')),
    payment_id @int REFERENCES payment (id),        -- what it is about; NULL: none, here and below
    order_id   @int REFERENCES orders (id),
    event_id   @int REFERENCES webhook_event (id),
    refund_id  @int REFERENCES refund (id),
    dispute_id @int REFERENCES dispute (id),
    account_id @int REFERENCES account (id),        -- the customer
    amount     @int NOT NULL DEFAULT 0,             -- 0: not known
    currency   TEXT NOT NULL DEFAULT '',            -- of the amount: an event's need not be the store's
    reason     TEXT NOT NULL,                       -- what happened, for people
    due_at     @int,                                -- of a dispute
    created_at @int NOT NULL,
    settled_at @int,
    settled_by @int REFERENCES account (id),        -- NULL: nobody, it settled itself
    action     TEXT NOT NULL DEFAULT '',            -- what was done: see domain/review.h; none: it settled itself
    note       TEXT NOT NULL DEFAULT ''
) @strict;
CREATE INDEX review_by_status ON review (status, id);
CREATE INDEX review_by_order ON review (order_id, id) WHERE order_id IS NOT NULL;
CREATE INDEX review_open_payment ON review (payment_id) WHERE status = 'open';
CREATE INDEX review_open_event ON review (event_id) WHERE status = 'open';
CREATE INDEX review_open_refund ON review (refund_id) WHERE status = 'open';

-- What happened to an order and is written nowhere else for good: see domain/timeline.h. Never changed.
CREATE TABLE order_event (
    id         @id,
    order_id   @int NOT NULL REFERENCES orders (id),
    kind       TEXT NOT NULL CHECK (kind IN ('payment_failed', 'payment_refused', 'payment_expired', 'payment_closed',
                                             'payment_received', 'payment_corrected', 'late_accepted', 'short_accepted',
                                             'credited', 'confirmed', 'cancelled', 'refund_done', 'refund_failed',
                                             'refund_retried', 'refund_settled', 'note', 'sent_again', 'code_replaced')),
    payment_id @int REFERENCES payment (id),        -- NULL: none
    amount     @int,                                -- NULL: none
    actor_id   @int REFERENCES account (id),        -- who did it; NULL: nobody, it followed from something
    note       TEXT NOT NULL DEFAULT '',            -- for staff
    at         @int NOT NULL
) @strict;
CREATE INDEX order_event_by_order ON order_event (order_id, id);

-- The last time that a gateway's books were compared with ours, and what differed: each difference is told once.
CREATE TABLE reconciliation (
    gateway_id  @int PRIMARY KEY REFERENCES gateway (id),
    asked_at    @int NOT NULL,                      -- when the books were last asked for
    ran_at      @int,                               -- when they were last compared, or could not be read; NULL: never
    charges     @int NOT NULL DEFAULT 0,            -- lines of the gateway's books
    refunds     @int NOT NULL DEFAULT 0,
    disputes    @int NOT NULL DEFAULT 0,
    differences @int NOT NULL DEFAULT 0,
    error       TEXT NOT NULL DEFAULT ''            -- why they could not be read; '': they were
) @strict;
CREATE TABLE reconciliation_difference (
    gateway_id @int NOT NULL REFERENCES gateway (id),
    name       TEXT NOT NULL,                       -- what differs, the gateway's name of it and how much
    found_at   @int NOT NULL,
    PRIMARY KEY (gateway_id, name)
) @strict;

-- Work that leaves this server. A row is taken by moving `due_at` forward, so that no two workers have it at once and none is
-- lost when a worker dies.
CREATE TABLE outbox (
    id         @id,
    kind       TEXT NOT NULL CHECK (kind IN ('create', 'capture', 'refund', 'ask', 'close', 'mail', 'sandbox', 'reset', 'reconcile')),
    payment_id @int REFERENCES payment (id),        -- NULL: not about a payment
    refund_id  @int REFERENCES refund (id),         -- refund: which
    amount     @int,                                -- refund: how much
    payload    @bytes,                              -- sealed: create (the body of the call), mail, sandbox and reset; dropped when the work is done
    status     TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'done', 'failed')),
    attempts   @int NOT NULL DEFAULT 0,
    claims     @int NOT NULL DEFAULT 0,             -- taken since an attempt's end was last recorded: many mean that it never ends
    due_at     @int NOT NULL,
    set_at     @int NOT NULL DEFAULT 0,             -- when due_at was last set: domain/clock_back.h
    last_error TEXT NOT NULL DEFAULT '',
    created_at @int NOT NULL,
    done_at    @int
) @strict;
CREATE INDEX outbox_due ON outbox (due_at) WHERE status = 'waiting';
CREATE INDEX outbox_open ON outbox (id) WHERE status <> 'done';
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
    received    @int NOT NULL DEFAULT 0 CHECK (received >= 0), -- what was really paid
    paid_currency TEXT NOT NULL DEFAULT '',         -- and in what
    refunded    @int NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND received),
    status      TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'failed', 'expired', 'closed')),
    dispute_ref TEXT NOT NULL DEFAULT '',           -- of an open dispute; '': none
    mood        TEXT NOT NULL DEFAULT 'willing' CHECK (mood IN ('willing', 'refuses_refunds', 'loses_answer', 'loses_create')),
    success_url TEXT NOT NULL DEFAULT '',
    cancel_url  TEXT NOT NULL DEFAULT '',
    created_at  @int NOT NULL
) @strict;
CREATE INDEX sandbox_payment_loses ON sandbox_payment (mood) WHERE mood = 'loses_create';
CREATE TABLE sandbox_refund (
    id         @id,
    payment_id @int NOT NULL REFERENCES sandbox_payment (id),
    key        TEXT NOT NULL UNIQUE,                -- of the request: a repeated one finds it
    amount     @int NOT NULL CHECK (amount > 0),
    is_returned @int NOT NULL DEFAULT 0 CHECK (is_returned IN (0, 1)) -- the customer's bank sent it back
) @strict;
CREATE INDEX sandbox_refund_by_payment ON sandbox_refund (payment_id, id);
