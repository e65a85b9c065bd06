// The link from an object to its changes in the audit trail.
import { href } from '../route';
import { LinkButton } from '../ui/basic';

/** `of` is the first half of the audit's actions: product.update is about a `product`. */
export function HistoryButton({ of, id }: { of: string; id: number }) {
  return (
    <LinkButton to={href('/audit', { action: of, resource: String(id) })} icon="clock">
      History
    </LinkButton>
  );
}
