// One of the merchant's own pages, and a new one.
import { get, patch, post, remove, type Row } from '../../api';
import { useLoad } from '../../load';
import { go, href, type PageProps } from '../../route';
import { MarkdownField } from '../../parts/markdown_field';
import { Button, Card, Load, Page } from '../../ui/basic';
import { ask } from '../../ui/dialog';
import { Check, Form, TextField, type Values } from '../../ui/form';
import { toast } from '../../ui/toast';

type OwnPageRow = Row<'/api/admin/pages'>;

const bodyOf = (v: Values) => ({
  title: v.trimmed('title'),
  slug: v.trimmed('slug'),
  body: v.text('body'),
  in_footer: v.bool('in_footer'),
});

function Fields({ page }: { page?: OwnPageRow }) {
  return (
    <>
      <TextField name="title" label="Title" value={page?.title} />
      <TextField
        name="slug"
        label="Slug"
        value={page?.slug}
        hint="Its name in the address: terms stands for /page/terms."
      />
      <MarkdownField name="body" label="Text" value={page?.body ?? ''} rows={16} />
      <Check name="in_footer" label="Link it in the footer of every page" checked={page?.in_footer ?? true} />
    </>
  );
}

export function OwnPageNew() {
  return (
    <Page title="New page" back={[href('/pages'), 'Own pages']}>
      <Card>
        <Form
          submit="Add page"
          onSubmit={async (v) => {
            const { data } = await post('/api/admin/pages', { body: bodyOf(v), once: v.key });
            toast(`${data.title} was added.`);
            go(`/pages/${data.id}`);
          }}
        >
          <Fields />
        </Form>
      </Card>
    </Page>
  );
}

export function OwnPage({ id }: PageProps) {
  const page = useLoad(async () => (await get('/api/admin/pages/{id}', { path: { id } })).data, [id]);
  const p = page.data;
  const takeAway = () =>
    ask({
      title: `Delete ${p?.title ?? 'this page'}?`,
      text: 'Its address answers “not found” from then on.',
      action: 'Delete page',
      danger: true,
      run: async () => {
        await remove('/api/admin/pages/{id}', { path: { id } });
        toast('The page was deleted.');
        go('/pages');
      },
    });
  return (
    <Page
      title={p?.title ?? 'Page'}
      back={[href('/pages'), 'Own pages']}
      actions={
        p && (
          <>
            <a class="button" href={`/page/${p.slug}`} target="_blank" rel="noreferrer">
              Open the page
            </a>
            <Button onClick={takeAway}>Delete</Button>
          </>
        )
      }
    >
      <Load of={page}>
        {(data) => (
          <Card>
            <Form
              submit="Save page"
              onSubmit={async (v) => {
                page.set((await patch('/api/admin/pages/{id}', { path: { id }, body: bodyOf(v) })).data);
                toast('The page was saved.');
              }}
            >
              <Fields page={data} />
            </Form>
          </Card>
        )}
      </Load>
    </Page>
  );
}
