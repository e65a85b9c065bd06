// E-mail and password, and a one-time code where the account asks for one.
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../../api';
import { login, notice } from '../../session';
import { Form, TextField, bad } from '../../ui/form';
import { Icon } from '../../ui/icon';

export function Login() {
  const [asked, setAsked] = useState<{ email: string; password: string } | null>(null);
  useEffect(() => {
    document.title = 'Log in – Administration';
  }, []);

  const first = async (email: string, password: string) => {
    try {
      await login(email, password);
    } catch (e) {
      if (!(e instanceof ApiError && e.code === 'totp_required')) throw e;
      setAsked({ email, password });
    }
  };

  return (
    <div class="center">
      <main>
        <p class="brand">
          <Icon name="store" />
          <span>souk</span>
        </p>
        {notice.value && (
          <p class="notice" role="status">
            {notice.value}
          </p>
        )}
        <div class="card">
          <h1>{asked ? 'One-time code' : 'Log in'}</h1>
          {asked ? (
            <Form
              key="code"
              submit="Log in"
              onCancel={() => setAsked(null)}
              onSubmit={async (v) => {
                await login(asked.email, asked.password, v.trimmed('totp')).catch((e: unknown) => {
                  throw e instanceof ApiError && e.status === 401
                    ? bad('totp', 'This code is not right, or was used already')
                    : e;
                });
              }}
            >
              <TextField
                name="totp"
                label="Code"
                autocomplete="one-time-code"
                autofocus
                hint="The 6 digits that your authenticator app shows, or one of your recovery codes."
              />
            </Form>
          ) : (
            <Form key="password" submit="Log in" onSubmit={(v) => first(v.trimmed('email'), v.text('password'))}>
              <TextField name="email" label="E-mail address" type="email" autocomplete="username" autofocus />
              <TextField name="password" label="Password" type="password" autocomplete="current-password" />
            </Form>
          )}
        </div>
      </main>
    </div>
  );
}
