// Whether the gateways' books agree with ours, and when they were last compared.
import { get, post, type Row } from '../../api';
import { number } from '../../format';
import { useLoad } from '../../load';
import { Badge, Button, Card, Empty, Load, Time } from '../../ui/basic';
import { Table } from '../../ui/table';
import { attempt, toast } from '../../ui/toast';

type Book = Row<'/api/admin/reconciliations'>;

function Verdict({ book }: { book: Book }) {
  if (book.error)
    return (
      <>
        <Badge status="failed">Could not be read</Badge>
        <span class="sub">{book.error}</span>
      </>
    );
  if (!book.ran_at) return <Badge status="waiting">Not compared yet</Badge>;
  return book.agrees ? (
    <Badge status="settled">Agrees</Badge>
  ) : (
    <Badge status="failed">{book.differences === 1 ? '1 difference' : `${number(book.differences)} differences`}</Badge>
  );
}

export function Books() {
  const books = useLoad(async () => (await get('/api/admin/reconciliations')).data, []);
  const compare = (book: Book) =>
    attempt(async () => {
      await post('/api/admin/reconciliations/{gateway}', { path: { gateway: book.gateway } });
      toast('The books are being fetched. Reload in a moment.');
      books.reload();
    });
  return (
    <Card title="Reconciliation" flush actions={<Button onClick={books.reload}>Reload</Button>}>
      <Load of={books}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No books to compare">Gateways with an API key are compared with ours once a day.</Empty>
          ) : (
            <Table
              label="Reconciliation"
              rows={rows}
              keyOf={(b) => b.gateway}
              columns={[
                { head: 'Gateway', cell: (b) => b.gateway },
                { head: 'Result', cell: (b) => <Verdict book={b} /> },
                { head: 'Last run', cell: (b) => <Time at={b.ran_at} none="Never" /> },
                { head: 'Charges', right: true, cell: (b) => <span class="number">{number(b.charges)}</span> },
                { head: 'Refunds', right: true, cell: (b) => <span class="number">{number(b.refunds)}</span> },
                { head: 'Disputes', right: true, cell: (b) => <span class="number">{number(b.disputes)}</span> },
                {
                  head: 'Actions',
                  actions: true,
                  cell: (b) => (
                    <Button small label={`Compare ${b.gateway} now`} onClick={() => compare(b)}>
                      Compare now
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
    </Card>
  );
}
