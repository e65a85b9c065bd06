// The caller's own account: password, second factor, and where it is logged in.
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../api';
import { end, me } from '../../session';
import { Card, Facts, Page } from '../../ui/basic';
import { Check, Form, TextField, bad } from '../../ui/form';
import { SecondFactor } from './second_factor';
import { Sessions } from './sessions';

export function Account() {
  const [needsCode, setNeedsCode] = useState(false);
  return (
    <Page title="Your account">
      <div class="columns">
        <div class="stack">
          <SecondFactor />
          <Card title="Password">
            <Form
              submit="Change password"
              onSubmit={async (v) => {
                const password = v.text('password');
                if (password !== v.text('repeat')) throw bad('repeat', 'The two passwords are not the same');
                const body = {
                  current_password: v.text('current_password'),
                  password,
                  totp: v.optional('totp'),
                  end_api_tokens: v.bool('end_api_tokens'),
                };
                await post('/api/auth/password', { body }).catch((e: unknown) => {
                  if (e instanceof ApiError && e.code === 'totp_required') setNeedsCode(true);
                  throw e;
                });
                end('Your password was changed. Please log in with the new one.');
              }}
            >
              <TextField
                name="current_password"
                label="Current password"
                type="password"
                autocomplete="current-password"
              />
              <TextField
                name="password"
                label="New password"
                type="password"
                autocomplete="new-password"
                hint="At least 10 characters. All your logins end."
              />
              <TextField name="repeat" label="New password again" type="password" autocomplete="new-password" />
              <Check name="end_api_tokens" label="End my API tokens as well" />
              {needsCode && (
                <TextField name="totp" label="One-time code" autocomplete="one-time-code" hint="From your app." />
              )}
            </Form>
          </Card>
          <Sessions />
        </div>
        <Card title="You">
          <Facts
            of={[
              ['Name', me.value?.name],
              ['E-mail', me.value?.email],
              ['Role', me.value?.role === 'owner' ? 'Owner' : 'Staff'],
            ]}
          />
        </Card>
      </div>
    </Page>
  );
}
