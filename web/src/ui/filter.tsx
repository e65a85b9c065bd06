// The row of filters above a list. Their values live in the address.
import { useEffect, useId, useRef } from 'preact/hooks';
import { place, setQuery } from '../route';
import { words } from '../format';
import { Icon } from './icon';

const TYPING_MS = 250;

export function SearchFilter({ label, name = 'q' }: { label: string; name?: string }) {
  const timer = useRef(0);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const value = place.value.query.get(name) ?? '';
  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (text: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ [name]: text.trim() }), TYPING_MS);
  };
  return (
    <div class="search">
      <label class="hidden" for={id}>
        {label}
      </label>
      <Icon name="search" />
      <input
        ref={input}
        id={id}
        type="search"
        placeholder={label}
        defaultValue={value}
        maxLength={100}
        onInput={(e) => typed(e.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
    </div>
  );
}

export function SelectFilter({
  label,
  name,
  options,
}: {
  label: string;
  name: string;
  options: (string | [string, string])[];
}) {
  const id = useId();
  const value = place.value.query.get(name) ?? '';
  return (
    <div class="filter">
      <label class="hidden" for={id}>
        {label}
      </label>
      <select id={id} value={value} onChange={(e) => setQuery({ [name]: e.currentTarget.value })}>
        <option value="">{label}: all</option>
        {options
          .map((o) => (typeof o === 'string' ? ([o, words(o)] as const) : o))
          .map(([v, text]) => (
            <option key={v} value={v} selected={v === value}>
              {text}
            </option>
          ))}
      </select>
    </div>
  );
}

export const filterValue = (name: string): string => place.value.query.get(name) ?? '';

/** A filter's value, when it is one of the known ones. */
export function chosen<T extends string>(name: string, of: readonly T[]): T | undefined {
  return of.find((value) => value === filterValue(name));
}
