// What happened to an order, with who did it and what was said.
import { type Data } from '../../api';
import { words } from '../../format';
import { Money, Time } from '../../ui/basic';

type Entry = Data<'/api/admin/orders/{id}'>['timeline'][number];

const WHAT: Record<Entry['kind'], string> = {
  placed: 'Placed',
  payment_begun: 'Payment begun',
  payment_failed: 'Payment declined',
  payment_refused: 'The gateway refused to start the payment',
  payment_expired: 'Payment expired',
  payment_closed: 'Payment closed',
  payment_received: 'Payment received',
  payment_corrected: 'The gateway says that less was paid',
  payment_reversed: 'The gateway took money back',
  late_accepted: 'Accepted, although late',
  short_accepted: 'Accepted; this much was missing',
  credited: 'Credited to the wallet',
  confirmed: 'Confirmed by staff',
  delivered: 'Paid and delivered',
  cancelled: 'Cancelled',
  refund_requested: 'Refund requested',
  refund_done: 'Refunded',
  refund_failed: 'Refund failed',
  refund_retried: 'Refund tried again',
  refund_settled: 'Refund settled outside',
  dispute_opened: 'Disputed',
  dispute_won: 'Dispute won',
  dispute_lost: 'Dispute lost',
  dispute_withdrawn: 'Dispute withdrawn',
  review_opened: 'Waits for a person',
  review_settled: 'Decided',
  revealed: 'Keys and codes revealed',
  note: 'Note',
  sent_again: 'Mail sent again',
  code_replaced: 'Code replaced',
};

/** Notes of these are words of the program, the others are references or what people wrote. */
function noteOf(entry: Entry): string | null {
  if (entry.note === null) return null;
  if (entry.kind === 'placed') return entry.note === 'api' ? 'through the API' : 'from the cart';
  if (entry.kind === 'delivered') return `with ${words(entry.note)}`;
  return entry.note;
}

export function Timeline({ of }: { of: Entry[] }) {
  return (
    <ol class="timeline">
      {of.map((entry, i) => (
        <li key={i}>
          <strong>
            {WHAT[entry.kind]}
            {entry.amount !== null && (
              <>
                {' '}
                <Money amount={entry.amount} />
              </>
            )}
          </strong>
          {entry.gateway && <span>{words(entry.gateway)}</span>}
          {noteOf(entry) && <span class="preline">{noteOf(entry)}</span>}
          {entry.by_email && <span>by {entry.by_email}</span>}
          <Time at={entry.at} />
        </li>
      ))}
    </ol>
  );
}
