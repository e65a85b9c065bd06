// Who may take out how much, and who must be known for it: withdrawals, the second person, proved addresses.
import { patch } from '../../api';
import { isZero, ZERO, type Amount } from '../../amount';
import { plainMoney } from '../../format';
import { explainConflict } from '../../parts/conflict';
import { currency, isOwner, settings, type Settings } from '../../session';
import { Card, Facts, Money } from '../../ui/basic';
import { Check, Form, TextField } from '../../ui/form';
import { toast } from '../../ui/toast';

type Saved = Settings & { etag: string };

const orNone = (amount: Amount) => (isZero(amount) ? 'none' : <Money amount={amount} />);

export function Limits({ of: s, onSave }: { of: Saved; onSave: (saved: Saved) => void }) {
  return (
    <Card title="Payouts and accounts">
      {isOwner() ? (
        <Form
          key={s.etag}
          submit="Save limits"
          onSubmit={async (v) => {
            const { data, etag } = await patch('/api/admin/settings', {
              ifMatch: s.etag,
              body: {
                withdraw_min: v.amount('withdraw_min') ?? ZERO,
                withdraw_max: v.amount('withdraw_max') ?? ZERO,
                second_person_above: v.amount('second_person_above') ?? ZERO,
                require_verified_email: v.bool('require_verified_email'),
              },
            }).catch(explainConflict);
            settings.value = data;
            onSave({ ...data, etag });
            toast('The limits were saved.');
          }}
        >
          <div class="pair">
            <TextField
              name="withdraw_min"
              label={`Withdrawals from, in ${currency()}`}
              numeric
              value={plainMoney(s.withdraw_min)}
              hint="0: any amount."
            />
            <TextField
              name="withdraw_max"
              label={`Withdrawals up to, in ${currency()}`}
              numeric
              value={plainMoney(s.withdraw_max)}
              hint="0: no limit."
            />
          </div>
          <TextField
            name="second_person_above"
            label={`A second person decides above, in ${currency()}`}
            numeric
            value={plainMoney(s.second_person_above)}
            hint="Withdrawals, and credits that staff give. 0: never."
          />
          <Check
            name="require_verified_email"
            label="Only confirmed e-mail addresses spend money"
            checked={s.require_verified_email}
            hint="Of customers who registered themselves: orders, top-ups and withdrawals."
          />
        </Form>
      ) : (
        <Facts
          of={[
            ['Withdrawals from', orNone(s.withdraw_min)],
            ['Withdrawals up to', orNone(s.withdraw_max)],
            ['A second person above', orNone(s.second_person_above)],
            ['Confirmed addresses only', s.require_verified_email ? 'yes' : 'no'],
          ]}
        />
      )}
    </Card>
  );
}
