// The sales chart. Loaded apart from the rest of the panel.
import uPlot from 'uplot';
import { heightOf, type Amount } from '../amount';
import { day, money } from '../format';

const HALF_DAY_S = 43200;

interface Day {
  day: string;
  orders: number;
  total: Amount;
}

/** The present colour of a custom property; canvases know nothing of properties. */
function colour(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const value = getComputedStyle(element).color;
  element.style.color = '';
  return value;
}

/** Draws into `element`; returns the function that removes the chart. */
export function drawSales(element: HTMLElement, sales: Day[], currency: string): () => void {
  const accent = colour(element, '--accent');
  const muted = colour(element, '--muted');
  const line = colour(element, '--line');
  const axis = { stroke: muted, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  const size = () => ({ width: Math.max(element.clientWidth, 200), height: 220 });
  const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const note = document.createElement('p');
  note.className = 'hint';
  const tell = (index: number | null | undefined) => {
    const at = index === null || index === undefined ? undefined : sales[index];
    note.textContent = at
      ? `${day(at.day)}: ${money(at.total, currency)}, ${at.orders} ${at.orders === 1 ? 'order' : 'orders'}`
      : 'Days are in UTC. Point at one for its figures.';
  };
  const chart = new uPlot(
    {
      ...size(),
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC'),
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      legend: { show: false },
      hooks: { setCursor: [(u) => tell(u.cursor.idx)] },
      scales: {
        x: { range: (_, min, max) => [min - HALF_DAY_S, max + HALF_DAY_S] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 64,
          size: 36,
          values: (_, ticks) => ticks.map((t) => shortDay.format(t * 1000)),
        },
        {
          ...axis,
          grid: { stroke: line, width: 1 },
          size: 64,
          values: (_, ticks) => ticks.map((t) => compact(t, currency)),
        },
      ],
      series: [
        {},
        {
          fill: accent,
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars?.({ size: [0.7, 28], radius: 0.15 }),
        },
      ],
    },
    [sales.map((s) => Date.parse(`${s.day}T00:00:00Z`) / 1000), sales.map((s) => heightOf(s.total))],
    element,
  );
  tell(null);
  element.append(note);
  const resized = new ResizeObserver(() => chart.setSize(size()));
  resized.observe(element);
  return () => {
    resized.disconnect();
    chart.destroy();
    note.remove();
  };
}

function compact(tick: number, currency: string): string {
  return new Intl.NumberFormat(undefined, {
    style: 'currency',
    currency,
    notation: 'compact',
    maximumFractionDigits: 1,
  }).format(tick);
}
