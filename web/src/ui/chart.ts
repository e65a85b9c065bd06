// The sales chart. Loaded apart from the rest of the panel.
import uPlot from 'uplot';
import { money } from '../format';

interface Day { day: string; orders: number; total: number }

/** The colour that a custom property stands for here and now; canvases know nothing of properties. */
function colour(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const value = getComputedStyle(element).color;
  element.style.color = '';
  return value;
}

/** Draws into `element`; gives what removes it again. */
export function drawSales(element: HTMLElement, sales: Day[], currency: string): () => void {
  const accent = colour(element, '--accent');
  const soft = colour(element, '--accent-soft');
  const muted = colour(element, '--muted');
  const line = colour(element, '--line');
  const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  const size = () => ({ width: Math.max(element.clientWidth, 200), height: 240 });
  const chart = new uPlot({
    ...size(),
    tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'UTC'),
    cursor: { drag: { x: false, y: false } },
    legend: { live: true },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [{ ...axis, grid: { show: false } }, { ...axis, size: 70, values: (_, ticks) => ticks.map((t) => compact(t, currency)) }],
    series: [
      { label: 'Day', value: (_, ts) => (ts === null ? '–' : new Date(ts * 1000).toISOString().slice(0, 10)) },
      { label: 'Sales', stroke: accent, fill: soft, width: 2, points: { show: sales.length <= 31, size: 5, fill: accent },
        value: (_, v) => (v === null ? '–' : money(v, currency)) },
    ],
  }, [sales.map((s) => Date.parse(`${s.day}T00:00:00Z`) / 1000), sales.map((s) => s.total)], element);
  const resized = new ResizeObserver(() => chart.setSize(size()));
  resized.observe(element);
  return () => { resized.disconnect(); chart.destroy(); };
}

function compact(amount: number, currency: string): string {
  return new Intl.NumberFormat(undefined, { style: 'currency', currency, notation: 'compact', maximumFractionDigits: 1 }).format(amount);
}
