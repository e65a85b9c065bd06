-- Money. Double entry: a transfer takes its amount from one ledger account (debit) and gives it to another (credit).
-- Transfers are never changed or deleted. A wallet's balance is kept beside them, because it is guarded on every
-- payment; the balances of the system accounts are the sums of their transfers (one hot row would make every order wait
-- for every other).

CREATE TABLE ledger_account (
    id           @id,
    kind         TEXT NOT NULL CHECK (kind IN ('wallet', 'sales', 'clearing', 'held', 'paid_out', 'adjustments', 'received',
                                               'debts')),
    owner_id     @int UNIQUE REFERENCES account (id), -- wallets only
    balance      @int NOT NULL DEFAULT 0,           -- wallets only: credits minus debits
    credit_limit @int NOT NULL DEFAULT 0 CHECK (credit_limit >= 0), -- post-pay: API orders may take the wallet this far below 0
    frozen       @int NOT NULL DEFAULT 0 CHECK (frozen >= 0), -- wallets only: of disputed top-ups, cannot be spent
    debt         @int NOT NULL DEFAULT 0 CHECK (debt >= 0),   -- wallets only: owed to the store; money that comes in repays it
    last_transfer_at @int NOT NULL DEFAULT 0,       -- wallets only: a history never goes back in time, even if the clock does
    CHECK (balance >= -credit_limit),
    CHECK ((kind = 'wallet') = (owner_id IS NOT NULL))
) @strict;
-- Given their numbers (1 to 7, see domain/ledger.h) by the identity column itself, one statement each, in this order.
INSERT INTO ledger_account (kind) VALUES ('sales');       -- 1: what customers paid for goods
INSERT INTO ledger_account (kind) VALUES ('clearing');    -- 2: money that is or was at a gateway
INSERT INTO ledger_account (kind) VALUES ('held');        -- 3: withdrawals that wait for a decision
INSERT INTO ledger_account (kind) VALUES ('paid_out');    -- 4: withdrawals that were approved
INSERT INTO ledger_account (kind) VALUES ('adjustments'); -- 5: credits and debits by staff
INSERT INTO ledger_account (kind) VALUES ('received');    -- 6: came through a gateway and waits for a decision
INSERT INTO ledger_account (kind) VALUES ('debts');       -- 7: what customers owe: it went back although their wallet did not hold it

-- @checked: PostgreSQL would lock and look up the row of each reference for every order that is placed, a third of the
-- order's cost; nothing that is referenced so is ever deleted, and `souk check` finds what refers to nothing.
--
-- Words of the tables that an order writes are checked by OR: for IN with three words or more SQLite fills a temporary
-- table each time.
CREATE TABLE transfer (
    id           @id,
    debit_id     @int NOT NULL @checked(ledger_account), -- loses the amount
    credit_id    @int NOT NULL @checked(ledger_account), -- gets it
    amount       @int NOT NULL CHECK (amount > 0),
    kind         TEXT NOT NULL CHECK (kind = 'order' OR kind = 'refund' OR kind = 'topup' OR kind = 'payment' OR
                                      kind = 'received' OR kind = 'adjustment' OR kind = 'withdrawal' OR
                                      kind = 'withdrawal_approved' OR kind = 'withdrawal_rejected' OR
                                      kind = 'returned' OR kind = 'refund_failed' OR kind = 'tolerance' OR
                                      kind = 'debt' OR kind = 'opening'),
    reference_id @int NOT NULL DEFAULT 0,           -- the order, withdrawal or payment that it belongs to; 0: none
    description  TEXT NOT NULL,
    created_at   @int NOT NULL,
    CHECK (debit_id <> credit_id)
) @strict;
@postgres
CREATE INDEX transfer_by_debit ON transfer (debit_id, id); -- a wallet's history
@end
CREATE INDEX transfer_by_credit ON transfer (credit_id, id) WHERE credit_id > 7; -- the same; nobody lists a system account
CREATE INDEX transfer_by_reference ON transfer (kind, reference_id); -- `souk check`: the money of each order, payment …

CREATE TABLE withdrawal (
    id           @id,
    account_id   @int NOT NULL REFERENCES account (id),
    amount       @int NOT NULL CHECK (amount > 0),
    status       TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'rejected', 'cancelled')),
    destination  TEXT NOT NULL DEFAULT '',          -- where the money goes, as the customer wrote it
    first_by     @int REFERENCES account (id),      -- the first of two people who have to approve it; NULL: nobody yet
    reason       TEXT NOT NULL DEFAULT '',          -- given by staff with a rejection
    requested_at @int NOT NULL,
    decided_at   @int,
    decided_by   @int REFERENCES account (id)
) @strict;
-- A manual credit above the store's limit that one person has requested: a second person's request for the same makes it.
CREATE TABLE credit_request (
    id           @id,
    account_id   @int NOT NULL REFERENCES account (id), -- whose wallet
    amount       @int NOT NULL CHECK (amount > 0),
    description  TEXT NOT NULL,
    requested_by @int NOT NULL REFERENCES account (id),
    requested_at @int NOT NULL,
    UNIQUE (account_id, amount, description)
) @strict;
CREATE INDEX withdrawal_by_account ON withdrawal (account_id, id);
CREATE INDEX withdrawal_by_status ON withdrawal (status, id);
CREATE INDEX withdrawal_pending ON withdrawal (account_id, amount) WHERE status = 'pending'; -- what a wallet has held

CREATE TABLE notification (
    id           @id,
    account_id   @int NOT NULL REFERENCES account (id),
    kind         TEXT NOT NULL,                     -- withdrawal_approved, withdrawal_rejected, ticket_answered, …
    message      TEXT NOT NULL,
    reference_id @int NOT NULL DEFAULT 0,
    is_read      @int NOT NULL DEFAULT 0 CHECK (is_read IN (0, 1)), -- the customer has said so
    created_at   @int NOT NULL
) @strict;
CREATE INDEX notification_by_account ON notification (account_id, id);
CREATE INDEX notification_unread ON notification (account_id, id) WHERE is_read = 0;
