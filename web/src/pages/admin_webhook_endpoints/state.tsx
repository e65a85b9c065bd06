// How an endpoint does, in a word or two.
import { Badge, Time } from '../../ui/basic';
import type { Endpoint } from './dialog';

export function State({ of }: { of: Endpoint }) {
  if (!of.is_enabled)
    return (
      <>
        <Badge status="off">Switched off</Badge>
        {of.off_reason && <span class="sub">{of.off_reason}</span>}
      </>
    );
  if (of.failing_since)
    return (
      <>
        <Badge status="failed">Failing</Badge>
        <span class="sub">
          since <Time at={of.failing_since} />
        </span>
      </>
    );
  return of.succeeded_at ? <Badge status="active">Well</Badge> : <Badge status="draft">Nothing sent yet</Badge>;
}
