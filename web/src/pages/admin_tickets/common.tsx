// What the pages about tickets share.
import { get } from '../../api';
import { Badge } from '../../ui/basic';

export const TICKET_STATUS = ['open', 'answered', 'closed'] as const;
export const TICKET_WORDS: [(typeof TICKET_STATUS)[number], string][] = [
  ['open', 'Waits for staff'],
  ['answered', 'Answered'],
  ['closed', 'Closed'],
];

export function TicketStatus({ of }: { of: string }) {
  return <Badge status={of}>{TICKET_WORDS.find(([status]) => status === of)?.[1]}</Badge>;
}

export const readDepartments = async () => (await get('/api/admin/departments')).data;
