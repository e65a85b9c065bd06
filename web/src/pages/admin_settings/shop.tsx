// What buyers see: whether the shop is there, its looks, texts and languages.
import { get, patch, remove, send } from '../../api';
import { useLoad, type Loaded } from '../../load';
import { isOwner, settings, type Settings } from '../../session';
import { href } from '../../route';
import { explainConflict } from '../../parts/conflict';
import { MarkdownField } from '../../parts/markdown_field';
import { PICTURES, shrunk } from '../../parts/picture';
import { Button, Card, Facts, LinkButton, Load, Page } from '../../ui/basic';
import { Check, ColorField, FileField, Form, Select, TextArea, TextField, bad, type Values } from '../../ui/form';
import { attempt, toast } from '../../ui/toast';

type Shown = Settings & { etag: string };
const LANGUAGES: [Settings['languages'][number], string][] = [
  ['en', 'English'],
  ['de', 'German'],
  ['fr', 'French'],
  ['es', 'Spanish'],
];
const LOGO_SIDE = 512;
/** What the shop has without a colour of the merchant's own. */
const SHOP_ACCENT = '#2456a6';

export function ShopPage() {
  const loaded = useLoad(async () => {
    const { data, etag } = await get('/api/admin/settings');
    return { ...data, etag };
  }, []);
  return (
    <Page
      title="Shop"
      lead="What buyers see at your store’s address."
      actions={
        <>
          <LinkButton to={href('/pages')}>Own pages</LinkButton>
          <a class="button" href="/" target="_blank" rel="noreferrer">
            Open the shop
          </a>
        </>
      }
    >
      <Load of={loaded}>{(s) => (isOwner() ? <Editor shown={s} loaded={loaded} /> : <Overview shown={s} />)}</Load>
    </Page>
  );
}

function Overview({ shown: s }: { shown: Shown }) {
  return (
    <Card title="Shop">
      <Facts
        of={[
          ['Pages', s.storefront ? 'Switched on' : 'Switched off'],
          ['Languages', s.languages.join(', ')],
          ['Line under the name', s.tagline],
          ['Colour', s.accent],
        ]}
      />
    </Card>
  );
}

function languagesOf(v: Values, before: Settings['languages']): Settings['languages'] {
  const chosen = LANGUAGES.map(([code]) => code).filter((code) => v.all('languages').includes(code));
  if (chosen.length === 0) throw new Error('Choose one language at least');
  const first = v.text('first') as Settings['languages'][number];
  const fallback = chosen.includes(first) ? first : (before.find((code) => chosen.includes(code)) ?? chosen[0]);
  return [fallback as (typeof chosen)[number], ...chosen.filter((code) => code !== fallback)];
}

function Editor({ shown: s, loaded }: { shown: Shown; loaded: Loaded<Shown> }) {
  const keep = ({ data, etag }: { data: Settings; etag: string }) => {
    settings.value = data;
    loaded.set({ ...data, etag });
  };
  return (
    <div class="columns">
      <Card title="Texts and looks">
        <Form
          key={s.etag}
          submit="Save shop"
          onSubmit={async (v) => {
            keep(
              await patch('/api/admin/settings', {
                ifMatch: s.etag,
                body: {
                  storefront: v.bool('storefront'),
                  tagline: v.trimmed('tagline'),
                  accent: v.bool('own_colour') ? v.text('accent') : '',
                  languages: languagesOf(v, s.languages),
                  welcome: v.text('welcome'),
                  style_sheet: v.text('style_sheet'),
                },
              }).catch((e: unknown) => explainConflict(e)),
            );
            toast('The shop was saved.');
          }}
        >
          <Check
            name="storefront"
            label="Show the shop’s pages"
            checked={s.storefront}
            hint="Off: for stores with a front end of their own. Links in mails keep working."
          />
          <TextField
            name="tagline"
            label="Line under the name"
            optional
            value={s.tagline}
            hint="Also the description for search engines."
          />
          <fieldset class="field">
            <legend>Languages</legend>
            {LANGUAGES.map(([code, name]) => (
              <Check key={code} name="languages" value={code} label={name} checked={s.languages.includes(code)} />
            ))}
          </fieldset>
          <Select
            name="first"
            label="Language for everybody else"
            value={s.languages[0]}
            options={LANGUAGES}
            hint="For visitors whose browser asks for none of these."
          />
          <div class="pair">
            <Check name="own_colour" label="A colour of our own" checked={s.accent !== ''} />
            <ColorField
              name="accent"
              label="Colour of buttons"
              value={s.accent || SHOP_ACCENT}
              hint="Dark or light enough to be read."
            />
          </div>
          <MarkdownField name="welcome" label="Welcome text" value={s.welcome} rows={6} optional />
          <TextArea
            name="style_sheet"
            label="Style sheet"
            optional
            rows={6}
            value={s.style_sheet}
            hint="CSS behind the shop’s own. Nothing is loaded from other sites."
          />
        </Form>
      </Card>
      <Logo shown={s} keep={keep} />
    </div>
  );
}

function Logo({ shown, keep }: { shown: Shown; keep: (answer: { data: Settings; etag: string }) => void }) {
  const takeAway = () =>
    attempt(async () => {
      keep(await remove('/api/admin/settings/logo'));
      toast('The logo was removed.');
    });
  return (
    <Card
      title="Logo"
      actions={
        shown.logo && (
          <Button small onClick={takeAway}>
            Remove logo
          </Button>
        )
      }
    >
      {shown.logo ? (
        <p class="logo-shown">
          <img src={shown.logo} alt="The shop’s logo" />
        </p>
      ) : (
        <p class="muted">No logo yet: the shop shows its name alone.</p>
      )}
      <Form
        key={shown.logo}
        submit={shown.logo ? 'Replace logo' : 'Upload logo'}
        onSubmit={async (v) => {
          const file = v.file('logo');
          if (!file) throw bad('logo', 'Choose a picture');
          const body = await shrunk(file, LOGO_SIDE);
          await send('PUT', '/api/admin/settings/logo', {
            body,
            headers: { 'Content-Type': 'application/octet-stream' },
          });
          keep(await get('/api/admin/settings'));
          toast('The logo was saved.');
        }}
      >
        <FileField
          name="logo"
          label="Picture"
          accept={PICTURES}
          hint="PNG, JPEG, WebP or AVIF; shown 32 pixels high."
        />
      </Form>
    </Card>
  );
}
