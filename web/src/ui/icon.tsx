// The few icons in use, as data from lucide; decorative always: the words are beside them or in a label.
import { h } from 'preact';
import award from 'lucide-static/icons/key-round.svg';
import banknote from 'lucide-static/icons/banknote.svg';
import chevron from 'lucide-static/icons/chevron-right.svg';
import clock from 'lucide-static/icons/history.svg';
import close from 'lucide-static/icons/x.svg';
import dark from 'lucide-static/icons/moon.svg';
import download from 'lucide-static/icons/download.svg';
import gear from 'lucide-static/icons/settings.svg';
import home from 'lucide-static/icons/layout-dashboard.svg';
import inbox from 'lucide-static/icons/inbox.svg';
import light from 'lucide-static/icons/sun.svg';
import logout from 'lucide-static/icons/log-out.svg';
import mail from 'lucide-static/icons/mail.svg';
import menu from 'lucide-static/icons/menu.svg';
import message from 'lucide-static/icons/message-square.svg';
import pack from 'lucide-static/icons/package.svg';
import plus from 'lucide-static/icons/plus.svg';
import receipt from 'lucide-static/icons/receipt-text.svg';
import scale from 'lucide-static/icons/scale.svg';
import search from 'lucide-static/icons/search.svg';
import send from 'lucide-static/icons/send.svg';
import shield from 'lucide-static/icons/shield-check.svg';
import store from 'lucide-static/icons/store.svg';
import system from 'lucide-static/icons/monitor.svg';
import tag from 'lucide-static/icons/ticket-percent.svg';
import user from 'lucide-static/icons/circle-user-round.svg';
import users from 'lucide-static/icons/users.svg';
import warning from 'lucide-static/icons/triangle-alert.svg';
import webhook from 'lucide-static/icons/webhook.svg';
import card from 'lucide-static/icons/credit-card.svg';
import folders from 'lucide-static/icons/folders.svg';

const ICONS = {
  award,
  banknote,
  card,
  chevron,
  clock,
  close,
  dark,
  download,
  folders,
  gear,
  home,
  inbox,
  light,
  logout,
  mail,
  menu,
  message,
  pack,
  plus,
  receipt,
  scale,
  search,
  send,
  shield,
  store,
  system,
  tag,
  user,
  users,
  warning,
  webhook,
};
export type IconName = keyof typeof ICONS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {ICONS[name].map(([shape, attributes]) => h(shape, attributes))}
    </svg>
  );
}
