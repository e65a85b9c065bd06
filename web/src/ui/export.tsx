import { download, type Export } from '../api';
import { Button } from './basic';
import { attempt, toast } from './toast';

/** A whole table as a file. */
export function ExportButton({ what }: { what: Export }) {
  const save = () =>
    attempt(async () => {
      const url = URL.createObjectURL(await download(what));
      const link = document.createElement('a');
      link.href = url;
      link.download = `${what}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
      toast(`${what}.csv is in your downloads.`);
    });
  return (
    <Button icon="download" onClick={save}>
      Export CSV
    </Button>
  );
}
