// The first owner, from the link that the server prints when it starts without one.
import { useState } from 'preact/hooks';
import { get, post } from '../api';
import { useLoad } from '../load';
import { login, notice } from '../session';
import { Empty, Load, LinkButton } from '../ui/basic';
import { Form, TextField, bad } from '../ui/form';
import { Icon } from '../ui/icon';

function leave(): void {
  history.replaceState(null, '', '#/');
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function Setup({ token }: { token: string }) {
  const state = useLoad(async () => (await get('/api/setup')).data, []);
  const [isDone, setDone] = useState(false);
  return (
    <div class="center">
      <main>
        <p class="brand">
          <Icon name="store" />
          <span>souk</span>
        </p>
        <div class="card">
          <Load of={state}>
            {({ is_needed }) =>
              is_needed && !isDone ? (
                <>
                  <h1>Set up your store</h1>
                  <p class="muted">You are its first owner. Owners can do everything, and add other staff later.</p>
                  <Form
                    submit="Create owner account"
                    onSubmit={async (v) => {
                      const password = v.text('password');
                      if (password !== v.text('repeat')) throw bad('repeat', 'The two passwords are not the same');
                      const email = v.trimmed('email');
                      await post('/api/setup', { body: { token, email, password, name: v.optional('name') } });
                      setDone(true);
                      leave();
                      await login(email, password).catch(() => {
                        notice.value = 'Your account is ready. Please log in.';
                      });
                    }}
                  >
                    <TextField name="name" label="Your name" optional autocomplete="name" autofocus />
                    <TextField name="email" label="E-mail address" type="email" autocomplete="username" />
                    <TextField
                      name="password"
                      label="Password"
                      type="password"
                      autocomplete="new-password"
                      hint="At least 10 characters."
                    />
                    <TextField name="repeat" label="Password again" type="password" autocomplete="new-password" />
                  </Form>
                </>
              ) : (
                <>
                  <h1>Already set up</h1>
                  <Empty
                    title="This store has its owner."
                    action={
                      <LinkButton to="#/" kind="primary">
                        Log in
                      </LinkButton>
                    }
                  >
                    The setup link works once.
                  </Empty>
                </>
              )
            }
          </Load>
        </div>
      </main>
    </div>
  );
}
