// bench/lib/sandbox_model.mjs - what must become of an order or a top-up at the sandbox, worked out from docs/payments.md alone.
// Money in minor units.
export class Model {
  order = 'pending';
  payment = 'open';
  delivered = 0;
  received = 0;
  waiting = 0;
  credited = 0;
  returned = 0;
  refunded = 0; // of the order
  wallet = 0;
  frozen = 0;
  debt = 0;
  held = false;
  #back = 0; // given back, as the sandbox says
  #refunds = []; // one by one
  #lost = 0;

  constructor({ amount, topup, sold_out }) {
    Object.assign(this, { amount, topup, sold_out });
    if (topup) this.order = null;
  }

  pay() {
    this.received = this.amount;
    this.payment = 'succeeded';
    if (this.topup) {
      this.#credit(this.amount);
    } else if (this.sold_out) {
      this.waiting = this.amount;
    } else {
      this.order = 'confirmed';
      this.delivered = 1;
    }
  }

  fail() {
    if (this.payment !== 'open') return;
    this.payment = 'failed';
    if (this.order) this.order = 'cancelled';
  }

  expire() {
    if (!['open', 'failed'].includes(this.payment)) return;
    this.payment = 'expired';
    if (this.order) this.order = 'cancelled';
  }

  /** Money goes: out of what waits, else out of the sale, else out of the wallet, where the rest is owed. */
  #go() {
    const gone = Math.min(this.#back + this.#lost, this.received);
    let more = gone - this.returned;
    if (more <= 0) return;
    this.returned = gone;
    const waiting = Math.min(more, this.waiting);
    this.waiting -= waiting;
    more -= waiting;
    if (this.delivered) {
      this.refunded += more;
      if (this.refunded === this.amount) this.order = 'refunded';
    } else if (this.topup) {
      const there = Math.min(more, this.wallet);
      this.wallet -= there;
      this.debt += more - there;
    }
    if (gone === this.received && !this.delivered && this.order === 'pending') this.order = 'cancelled';
  }

  /** Half of what the sandbox still has, or all of it. */
  refund_part() {
    this.#give(this.received - this.#back > 1 ? Math.floor((this.received - this.#back) / 2) : 1);
  }
  refund() {
    this.#give(this.received - this.#back);
  }
  #give(amount) {
    this.#refunds.push(amount);
    this.#back += amount;
    this.#go();
  }

  /** The bank sends the latest back: it waits for a decision, a top-up's is in the wallet again. */
  refund_returned() {
    this.#back -= this.#refunds.pop();
    const here = this.returned - Math.min(this.#back + this.#lost, this.received);
    this.returned -= here;
    if (this.topup) this.#credit(here);
    else this.waiting += here;
  }

  #credit(amount) {
    const repaid = Math.min(amount, this.debt);
    this.debt -= repaid;
    this.wallet += amount - repaid;
    this.credited += amount;
  }

  /** What staff could give back. */
  refundable() {
    return Math.min(this.waiting + (this.delivered ? this.amount - this.refunded : 0), this.received - this.returned);
  }
  staff_refund(amount = this.refundable()) {
    this.#give(amount);
  }

  staff_cancel() {
    if (this.order !== 'pending') return;
    this.order = 'cancelled';
    if (this.payment === 'open') this.payment = 'closed';
    if (this.waiting) this.#give(this.waiting);
  }

  dispute() {
    this.held = true;
    if (this.topup) this.frozen = this.received - this.returned;
  }
  #decided(lost) {
    this.held = false;
    this.frozen = 0;
    this.#lost += lost;
    this.#go();
  }
  dispute_won() {
    this.#decided(0);
  }
  dispute_withdrawn() {
    this.#decided(0);
  }
  dispute_lost() {
    this.#decided(this.received - this.returned);
  }
  dispute_lost_part() {
    this.#decided(Math.min(Math.floor(this.received / 2), this.received - this.returned));
  }

  /** As the API says it. */
  seen() {
    const major = (minor) => minor / 100;
    return {
      order: this.order,
      payment: this.payment,
      held: this.topup ? false : this.held,
      delivered: this.delivered,
      received: major(this.received),
      waiting: major(this.waiting),
      credited: major(this.credited),
      returned: major(this.returned),
      refunded: major(this.refunded),
      wallet: major(this.wallet - Math.min(this.frozen, this.wallet)),
      frozen: major(Math.min(this.frozen, this.wallet)),
      debt: major(this.debt),
    };
  }
}
