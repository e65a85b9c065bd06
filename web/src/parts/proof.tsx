// Asks for the password again when the server wants it before a sensitive step, then repeats the refused call.
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { ApiError, credentials, post } from '../api';
import { Dialog } from '../ui/dialog';
import { Form, TextField, bad } from '../ui/form';

interface Asked {
  proved: () => void;
  declined: () => void;
}
const asked = signal<Asked | null>(null);
let answer: Promise<void> | null = null;

/** One dialog for all calls that wait for it. Declining it gives them the refusal. */
credentials.prove = (refusal) => {
  answer ??= new Promise<void>((resolve, reject) => {
    asked.value = { proved: resolve, declined: () => reject(refusal) };
  }).finally(() => {
    answer = null;
    asked.value = null;
  });
  return answer;
};

export function Proof() {
  const now = asked.value;
  return now && <ProofDialog asked={now} />;
}

function ProofDialog({ asked: { proved, declined } }: { asked: Asked }) {
  const [needsCode, setNeedsCode] = useState(false);
  return (
    <Dialog title="Is it you?" onClose={declined}>
      <Form
        submit="Go on"
        onCancel={declined}
        onSubmit={async (v) => {
          const body = { password: v.text('password'), totp: v.optional('totp') };
          await post('/api/auth/confirm', { body }).catch((e: unknown) => {
            if (!(e instanceof ApiError)) throw e;
            if (e.code === 'totp_required') setNeedsCode(true);
            throw e.code === 'credentials_invalid' ? bad('password', 'The password or the code is not right') : e;
          });
          proved();
        }}
      >
        <p>This step is sensitive, and your last login was a while ago. Enter your password to continue.</p>
        <TextField name="password" label="Password" type="password" autocomplete="current-password" />
        {needsCode && (
          <TextField
            name="totp"
            label="One-time code"
            autocomplete="one-time-code"
            hint="The 6 digits that your app shows, or a recovery code."
          />
        )}
      </Form>
    </Dialog>
  );
}
