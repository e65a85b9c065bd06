// What the pages about licences share.
import type { Row } from '../../api';
import { Badge } from '../../ui/basic';

export type LicenseRow = Row<'/api/admin/licenses'>;

export function LicenseState({ of }: { of: LicenseRow }) {
  const isExpired = of.status === 'active' && of.expires_at !== null && Date.parse(of.expires_at) <= Date.now();
  return (
    <>
      <Badge status={isExpired ? 'expired' : of.status} />
      {of.on_hold && <Badge status="on_hold">On hold</Badge>}
    </>
  );
}
