-- What the store tells other systems: events, who wants them, and what became of each message.

-- Written in the transaction of the change that it tells of. Kept for 30 days.
CREATE TABLE event (
    id          @id,                                -- the newest row is never deleted, so that no number is given twice
    type        TEXT NOT NULL,                      -- order.confirmed, …: see domain/event.h
    resource_id @int NOT NULL,                      -- the order, licence, ticket …
    data        TEXT NOT NULL DEFAULT '',           -- JSON: the resource at that time, keys and codes replaced by marks; '': it
                                                    -- follows from what was sold, see domain/event.h
    keys        @bytes,                             -- sealed: what the marks stand for; empty or NULL: there are none
    created_at  @int NOT NULL
) @strict;
CREATE INDEX event_unwritten ON event (resource_id) WHERE data = '';

-- PostgreSQL gives numbers before it commits: an event may appear below one that is there already. Up to this number all
-- transactions have ended. One row; SQLite does not need it.
CREATE TABLE event_horizon (
    name    TEXT PRIMARY KEY,
    settled @int NOT NULL
) @norowid;
INSERT INTO event_horizon (name, settled) VALUES ('event', 0);

CREATE TABLE webhook_endpoint (
    id            @id_kept,
    url           TEXT NOT NULL,
    description   TEXT NOT NULL DEFAULT '',
    events        @int NOT NULL,                    -- bit set of types, see domain/event.h
    include_keys  @int NOT NULL DEFAULT 0 CHECK (include_keys IN (0, 1)), -- licence keys and codes in the clear
    is_enabled    @int NOT NULL DEFAULT 1 CHECK (is_enabled IN (0, 1)),
    off_reason    TEXT NOT NULL DEFAULT '',         -- why the store itself switched it off; '': it did not
    secret        @bytes NOT NULL,                  -- sealed
    old_secret    @bytes,                           -- sealed; NULL: none
    old_until     @int,                             -- until when the old one signs, too
    cursor        @int NOT NULL,                    -- the last event that deliveries were made of
    leased_until  @int NOT NULL DEFAULT 0,          -- one node at a time sends to it; 0: none does
    paused_until  @int NOT NULL DEFAULT 0,          -- after failures
    failures      @int NOT NULL DEFAULT 0,          -- tries that failed since the last success
    failing_since @int,                             -- the first of them; NULL: the last try succeeded
    succeeded_at  @int,                             -- the last success; NULL: none yet
    created_at    @int NOT NULL,
    updated_at    @int NOT NULL,
    deleted_at    @int                              -- gone for everybody; the row goes when its deliveries have
) @strict;

-- One message of an event to an endpoint.
CREATE TABLE webhook_delivery (
    id          @id,
    endpoint_id @int NOT NULL REFERENCES webhook_endpoint (id),
    event_id    @int NOT NULL REFERENCES event (id),
    type        TEXT NOT NULL,                      -- the event's
    status      TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts    @int NOT NULL DEFAULT 0,            -- since it was made or sent again
    tries       @int NOT NULL DEFAULT 0,            -- in all
    due_at      @int NOT NULL,                      -- of the next try
    answer      TEXT NOT NULL DEFAULT '',           -- the beginning of the last one
    created_at  @int NOT NULL,
    done_at     @int                                -- delivered or failed; NULL: pending
) @strict;
CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint_id, due_at, id) WHERE status = 'pending';
CREATE INDEX webhook_delivery_by_endpoint ON webhook_delivery (endpoint_id, id);
CREATE INDEX webhook_delivery_by_status ON webhook_delivery (status, id);
CREATE INDEX webhook_delivery_by_event ON webhook_delivery (event_id);

CREATE TABLE webhook_try (
    delivery_id @int NOT NULL REFERENCES webhook_delivery (id),
    number      @int NOT NULL,                      -- 1, 2, 3 …
    at          @int NOT NULL,
    took_ms     @int NOT NULL,
    status      @int NOT NULL,                      -- of the answer; 0: there was none
    error       TEXT NOT NULL DEFAULT '',           -- why there was none
    PRIMARY KEY (delivery_id, number)
) @norowid;

-- Whether license.expired was told: looked for by end.
ALTER TABLE license ADD COLUMN expiry_told @int NOT NULL DEFAULT 0 CHECK (expiry_told IN (0, 1));
CREATE INDEX license_by_end ON license (expires_at) WHERE expires_at IS NOT NULL AND expiry_told = 0;
