// The texts of mails: which there are, and one of them in one language, with how it would look.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, patch, post, put, remove, type Data } from '../api';
import { words } from '../format';
import { useLoad } from '../load';
import { href } from '../route';
import { isOwner, settings } from '../session';
import { Badge, Button, Card, Facts, Load, Loading, Page } from '../ui/basic';
import { ask } from '../ui/dialog';
import { filterValue } from '../ui/filter';
import { Check, Form, TextArea, TextField } from '../ui/form';
import { Table } from '../ui/table';
import { attempt, toast } from '../ui/toast';

const ONE = '/api/admin/mail-texts/{kind}/{language}';
type Text = Data<typeof ONE>;
type Preview = Data<`${typeof ONE}/preview`, 'post'>;
interface Draft {
  subject: string;
  body: string;
}

const TYPING_MS = 400;
const LANGUAGES: Record<string, string> = { en: 'English', de: 'German', fr: 'French', es: 'Spanish' };
const languageName = (code: string) => LANGUAGES[code] ?? code;
const editorOf = (kind: string, language: string) => href('/mail-texts', { kind, language });
const languages = () => settings.value?.languages ?? ['en'];

export function MailTexts() {
  const kind = filterValue('kind');
  const language = filterValue('language') || (languages()[0] as string);
  return kind ? <Editor key={`${kind} ${language}`} kind={kind} language={language} /> : <Kinds />;
}

function Kinds() {
  const list = useLoad(async () => (await get('/api/admin/mail-texts')).data, []);
  return (
    <Page title="Mail texts" lead="What customers and staff are written, and when. Owners can change the words.">
      <Card flush>
        <Load of={list}>
          {(all) => (
            <Table
              label="Mail texts"
              rows={all}
              keyOf={(m) => m.kind}
              to={(m) => editorOf(m.kind, languages()[0] as string)}
              columns={[
                { head: 'Mail', cell: (m) => words(m.kind) },
                { head: 'To', cell: (m) => words(m.to) },
                {
                  head: 'Own text',
                  cell: (m) =>
                    m.changed.length > 0 ? (
                      m.changed.map(languageName).join(', ')
                    ) : (
                      <span class="muted">As it came</span>
                    ),
                },
              ]}
            />
          )}
        </Load>
      </Card>
      {isOwner() && <StaffMail />}
    </Page>
  );
}

/** What mails look like; who of those who work here is written to, and of what. */
function StaffMail() {
  const loaded = useLoad(async () => (await get('/api/admin/settings')).data, []);
  return (
    <Card title="Mail settings">
      <Load of={loaded}>
        {(s) => (
          <Form
            submit="Save settings"
            onSubmit={async (v) => {
              const { data } = await patch('/api/admin/settings', {
                body: {
                  staff_mail: v.trimmed('staff_mail'),
                  mail_logo: v.bool('mail_logo'),
                  mail_new_order: v.bool('mail_new_order'),
                  low_stock: v.requiredCount('low_stock'),
                },
              });
              settings.value = data;
              toast('The settings were saved.');
            }}
          >
            <TextField
              name="staff_mail"
              type="email"
              label="Address for mail to staff"
              optional
              value={s.staff_mail}
              hint="Empty: everybody who works here."
            />
            <TextField
              name="low_stock"
              label="Low stock: codes left"
              numeric
              value={s.low_stock}
              hint="A mail when so many codes of a product or fewer are left, once until there are more. 0: never."
            />
            <Check
              name="mail_logo"
              label="Show the logo in mails"
              checked={s.mail_logo}
              hint="It is fetched from the shop when a mail is read."
            />
            <Check name="mail_new_order" label="A mail for every new order" checked={s.mail_new_order} />
          </Form>
        )}
      </Load>
    </Card>
  );
}

function Editor({ kind, language }: { kind: string; language: string }) {
  const path = { kind, language };
  const text = useLoad(async () => (await get(ONE, { path })).data, [kind, language]);
  const t = text.data;
  const reset = () =>
    ask({
      title: 'Back to the text that came with the program?',
      text: 'Your own text is deleted.',
      action: 'Reset the text',
      danger: true,
      run: async () => {
        text.set((await remove(ONE, { path })).data);
        toast('The text is as it came.');
      },
    });
  return (
    <Page
      title={`Mail: ${words(kind)}`}
      back={[href('/mail-texts'), 'Mail texts']}
      lead={
        t && (
          <>
            To {t.to === 'staff' ? 'staff' : 'customers'}, in {languageName(language)}{' '}
            {t.is_changed && <Badge status="changed">Own text</Badge>}
          </>
        )
      }
      actions={
        <>
          {languages()
            .filter((code) => code !== language)
            .map((code) => (
              <a key={code} class="button" href={editorOf(kind, code)}>
                {languageName(code)}
              </a>
            ))}
          {t?.is_changed && isOwner() && <Button onClick={reset}>Reset to default</Button>}
        </>
      }
    >
      <Load of={text}>{(loaded) => <Fields key={loaded.updated_at ?? ''} of={loaded} onSaved={text.set} />}</Load>
    </Page>
  );
}

function Fields({ of: t, onSaved }: { of: Text; onSaved: (t: Text) => void }) {
  const path = { kind: t.kind, language: t.language };
  const [draft, setDraft] = useState<Draft>({ subject: t.subject, body: t.body });
  const test = () =>
    attempt(async () => {
      const { data } = await post(`${ONE}/test`, { path, body: draft });
      if (!data.sent) throw new Error(data.error ?? 'The mail server did not take the message.');
      toast(`The mail server took the message to ${data.to}.`);
    });
  return (
    <div class="columns even">
      <Card title="Text">
        {isOwner() ? (
          <Form
            submit="Save text"
            onSubmit={async (v) => {
              onSaved((await put(ONE, { path, body: { subject: v.trimmed('subject'), body: v.text('body') } })).data);
              toast('The text was saved.');
            }}
          >
            <TextField
              name="subject"
              label="Subject"
              value={t.subject}
              onInput={(subject) => setDraft((was) => ({ ...was, subject }))}
            />
            <TextArea
              name="body"
              label="Body"
              value={t.body}
              rows={18}
              hint="Markdown. A paragraph is left out when a value that it names is empty."
              onInput={(body) => setDraft((was) => ({ ...was, body }))}
            />
          </Form>
        ) : (
          <pre class="mail-text">{t.body}</pre>
        )}
        <h3 class="mail-head">What it can name</h3>
        <Facts of={t.parameters.map((p) => [`{{${p.name}}}`, NAMES[p.type]])} />
      </Card>
      <Shown path={path} draft={draft} onTest={test} />
    </div>
  );
}

const NAMES: Record<Text['parameters'][number]['type'], string> = {
  text: 'a text',
  url: 'an address: [words]({{…}}) makes it a link',
  list: 'a list: alone in its paragraph',
};

/** The preview, a moment after the last key. */
function Shown({
  path,
  draft,
  onTest,
}: {
  path: { kind: string; language: string };
  draft: Draft;
  onTest: () => void;
}) {
  const [preview, setPreview] = useState<Preview | null>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      post(`${ONE}/preview`, { path, body: draft, signal: stop.signal }).then(
        ({ data }) => {
          setPreview(data);
          setError('');
        },
        (e: Error) => {
          if (!stop.signal.aborted) setError(e.message);
        },
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [draft]);
  return (
    <Card title="Preview" actions={<Button onClick={onTest}>Send it to me</Button>}>
      {error && (
        <p class="form-error" role="alert">
          {error}
        </p>
      )}
      {preview ? (
        <>
          <Facts of={[['Subject', preview.subject]]} />
          <Frame html={preview.html} />
          <h3 class="mail-head">Where there is no HTML</h3>
          <pre class="mail-text" tabIndex={0} aria-label="Text part">
            {preview.text}
          </pre>
        </>
      ) : (
        !error && <Loading />
      )}
    </Card>
  );
}

/** Somebody else's markup, in a frame without rights: no scripts, no forms, no way out. */
function Frame({ html }: { html: string }) {
  const url = useMemo(() => URL.createObjectURL(new Blob([html], { type: 'text/html' })), [html]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return <iframe class="mail-frame" title="HTML part" sandbox="" src={url} />;
}
