-- Support.

CREATE TABLE department (
    id        @id_kept,
    name      TEXT NOT NULL UNIQUE,
    is_active @int NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1))
) @strict;

CREATE TABLE ticket (
    id            @id,
    account_id    @int NOT NULL REFERENCES account (id),
    department_id @int NOT NULL REFERENCES department (id),
    subject       TEXT NOT NULL,
    order_id      @int NOT NULL DEFAULT 0,          -- the customer's order that it is about; 0: none was named
    license_id    @int NOT NULL DEFAULT 0,          -- and the licence
    status        TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'answered', 'closed')),
    created_at    @int NOT NULL,
    last_reply_at @int NOT NULL                     -- of the latest message; the first one counts
) @strict;
CREATE INDEX ticket_by_account ON ticket (account_id, last_reply_at, id);
CREATE INDEX ticket_by_activity ON ticket (last_reply_at, id);
CREATE INDEX ticket_by_status ON ticket (status, last_reply_at, id);
CREATE INDEX ticket_by_department ON ticket (department_id, last_reply_at, id);

CREATE TABLE ticket_message (
    id         @id,
    ticket_id  @int NOT NULL REFERENCES ticket (id),
    author     TEXT NOT NULL CHECK (author IN ('customer', 'staff')),
    author_id  @int NOT NULL REFERENCES account (id),
    body       TEXT NOT NULL,
    created_at @int NOT NULL
) @strict;
CREATE INDEX ticket_message_by_ticket ON ticket_message (ticket_id, id);
