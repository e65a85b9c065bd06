// A text in Markdown, and what it looks like in the shop.
import { useRef, useState } from 'preact/hooks';
import { post } from '../api';
import { Button } from '../ui/basic';
import { TextArea } from '../ui/form';
import { Markup } from '../ui/markup';
import { attempt } from '../ui/toast';

interface Props {
  name: string;
  label: string;
  value: string;
  rows?: number;
  optional?: boolean;
}

export function MarkdownField({ name, label, value, rows, optional }: Props) {
  const [html, setHtml] = useState<string | null>(null);
  const element = useRef<HTMLDivElement>(null);
  const preview = () =>
    attempt(async () => {
      const body = element.current?.querySelector('textarea')?.value ?? '';
      setHtml((await post('/api/admin/pages/preview', { body: { body } })).data.html);
    });
  return (
    <div class="markdown" ref={element}>
      <TextArea
        name={name}
        label={label}
        value={value}
        rows={rows}
        optional={optional}
        hint="Markdown: # Heading, *emphasis*, **strong**, - list, [words](address). HTML is shown as text."
      />
      <Button small label={`Preview of ${label}`} onClick={preview}>
        Preview
      </Button>
      {html !== null && (
        <section class="preview" aria-label={`Preview of ${label}`}>
          <Markup html={html} />
        </section>
      )}
    </div>
  );
}
