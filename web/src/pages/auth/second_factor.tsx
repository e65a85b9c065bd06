// Setting up a second factor: secret, first code, recovery codes.
import { useState } from 'preact/hooks';
import { ApiError, get, post, type Data } from '../../api';
import { useLoad } from '../../load';
import { isOwner, me } from '../../session';
import { Badge, Button, Card, Load, Secret } from '../../ui/basic';
import { Form, TextField, bad } from '../../ui/form';
import { attempt, toast } from '../../ui/toast';

type Begun = Data<'/api/admin/me/totp', 'post'>;
type State = { step: 'off' } | { step: 'on' } | { step: 'begun'; begun: Begun } | { step: 'done'; codes: string[] };

function wrongCode(e: unknown): never {
  throw e instanceof ApiError && e.errors.some((f) => f.field === 'code')
    ? bad('code', 'This code is not right, or was used already')
    : e;
}

export function SecondFactor() {
  // Only owners can ask; others learn that it is on when they try to set it up.
  const known = useLoad(async () => {
    const id = me.value?.id;
    return id && isOwner() ? (await get('/api/admin/staff/{id}', { path: { id } })).data.totp_is_on : false;
  }, []);
  const [changed, setState] = useState<State | null>(null);
  const begin = () =>
    attempt(async () => {
      try {
        setState({ step: 'begun', begun: (await post('/api/admin/me/totp')).data });
      } catch (e) {
        if (!(e instanceof ApiError && e.status === 409)) throw e;
        setState({ step: 'on' });
        toast('You already have a second factor.');
      }
    });
  return (
    <Card title="Second factor">
      <Load of={known}>
        {(isOn) => {
          const state = changed ?? (isOn ? { step: 'on' as const } : { step: 'off' as const });
          switch (state.step) {
            case 'off':
              return (
                <div class="stack">
                  <p>
                    With a second factor a stolen password is not enough: logging in also asks for a code from an app on
                    your phone.
                  </p>
                  <div class="form-actions">
                    <Button kind="primary" icon="shield" onClick={begin}>
                      Set up
                    </Button>
                  </div>
                </div>
              );
            case 'begun':
              return <Confirm begun={state.begun} onDone={(codes) => setState({ step: 'done', codes })} />;
            case 'done':
              return (
                <div class="stack">
                  <p>
                    <Badge status="active">On</Badge>
                  </p>
                  <p>
                    Keep these recovery codes in a safe place. Each one works once, when your phone is not at hand. They
                    are shown only once.
                  </p>
                  <ul class="codes" aria-label="Recovery codes">
                    {state.codes.map((c) => (
                      <li key={c}>
                        <code>{c}</code>
                      </li>
                    ))}
                  </ul>
                  <div class="form-actions">
                    <Button kind="primary" onClick={() => setState({ step: 'on' })}>
                      I have kept them
                    </Button>
                  </div>
                </div>
              );
            default:
              return <SwitchOff onDone={() => setState({ step: 'off' })} />;
          }
        }}
      </Load>
    </Card>
  );
}

function Confirm({ begun, onDone }: { begun: Begun; onDone: (codes: string[]) => void }) {
  return (
    <div class="stack">
      <p>
        Scan the code with your authenticator app, add the secret by hand, or <a href={begun.uri}>open this link</a> on
        your phone. Then enter the code that the app shows.
      </p>
      {begun.qr && (
        <svg
          class="qr"
          viewBox={`0 0 ${begun.qr.size} ${begun.qr.size}`}
          role="img"
          aria-label="QR code for authenticator apps"
        >
          <path d={begun.qr.path} />
        </svg>
      )}
      <Secret text={begun.secret} label="Secret" />
      <Secret text={begun.uri} label="Link for authenticator apps" />
      <Form
        submit="Switch on"
        onSubmit={async (v) => {
          const { data } = await post('/api/admin/me/totp/confirm', { body: { code: v.trimmed('code') } }).catch(
            wrongCode,
          );
          onDone(data.recovery_codes);
        }}
      >
        <TextField name="code" label="Code" autocomplete="one-time-code" hint="6 digits." />
      </Form>
    </div>
  );
}

function SwitchOff({ onDone }: { onDone: () => void }) {
  return (
    <div class="stack">
      <p>
        <Badge status="active">On</Badge> Logging in asks for a code from your app.
      </p>
      <Form
        submit="Switch off"
        danger
        onSubmit={async (v) => {
          await post('/api/admin/me/totp/remove', { body: { code: v.trimmed('code') } }).catch(wrongCode);
          toast('The second factor is off.');
          onDone();
        }}
      >
        <TextField name="code" label="Code" autocomplete="one-time-code" hint="From your app, or a recovery code." />
      </Form>
    </div>
  );
}
