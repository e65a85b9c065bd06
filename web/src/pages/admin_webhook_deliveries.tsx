// One delivery: what was sent, each try, and the answer.
import { get, post } from '../api';
import { inLines } from '../format';
import { useLoad } from '../load';
import { href, type PageProps } from '../route';
import { Badge, Button, Card, Empty, Facts, Load, Page, Time } from '../ui/basic';
import { Table } from '../ui/table';
import { attempt, toast } from '../ui/toast';

export function Delivery({ id }: PageProps) {
  const delivery = useLoad(async () => (await get('/api/admin/webhook-deliveries/{id}', { path: { id } })).data, [id]);
  const d = delivery.data;
  const again = () =>
    attempt(async () => {
      delivery.set((await post('/api/admin/webhook-deliveries/{id}/resend', { path: { id } })).data);
      toast('It is sent again now.');
    });
  return (
    <Page
      title={d ? d.type : `Delivery #${id}`}
      back={d ? [href(`/webhooks/${d.endpoint_id}`), 'Endpoint'] : [href('/webhooks'), 'Webhooks']}
      lead={d && <Badge status={d.status} />}
      actions={
        <>
          <Button onClick={delivery.reload}>Reload</Button>
          {d && d.status !== 'pending' && (
            <Button kind="primary" onClick={again}>
              Send again
            </Button>
          )}
        </>
      }
    >
      <Load of={delivery}>
        {(data) => (
          <div class="columns">
            <div class="stack">
              <Card title="Request">
                <pre class="body">{inLines(data.request.body)}</pre>
              </Card>
              <Card title="Last answer">
                {data.answer ? (
                  <pre class="body">{data.answer}</pre>
                ) : (
                  <p class="muted">It had no body, or none came.</p>
                )}
              </Card>
            </div>
            <div class="stack">
              <Card title="Delivery">
                <Facts
                  of={[
                    ['Address', <code>{data.request.url}</code>],
                    ['webhook-id', <code>{data.request.headers['webhook-id']}</code>],
                    ['Made', <Time at={data.created_at} />],
                    ['Next try', data.next_try_at && <Time at={data.next_try_at} />],
                    ['Over', data.done_at && <Time at={data.done_at} />],
                  ]}
                />
              </Card>
              <Card title="Tries" flush>
                {data.attempts.length === 0 ? (
                  <Empty title="None yet" />
                ) : (
                  <Table
                    label="Tries"
                    rows={data.attempts}
                    keyOf={(t) => t.number}
                    columns={[
                      { head: 'Time', cell: (t) => <Time at={t.at} /> },
                      {
                        head: 'Answer',
                        cell: (t) =>
                          t.status === null ? (
                            <>
                              <Badge status="failed">None</Badge>
                              <span class="sub">{t.error}</span>
                            </>
                          ) : (
                            <Badge status={t.status < 300 && t.status >= 200 ? 'done' : 'failed'}>{t.status}</Badge>
                          ),
                      },
                      { head: 'Took', right: true, cell: (t) => `${t.took_ms} ms` },
                    ]}
                  />
                )}
              </Card>
            </div>
          </div>
        )}
      </Load>
    </Page>
  );
}
