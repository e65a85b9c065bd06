-- expand
-- A step made for the test of rolling upgrades: on a table that is always in use, and with a table of its own.
ALTER TABLE orders ADD COLUMN gift_note TEXT NOT NULL DEFAULT ''; -- for the receiver
CREATE TABLE gift (
    order_id @int PRIMARY KEY REFERENCES orders (id),
    sent_at  @int NOT NULL
) @strict;
