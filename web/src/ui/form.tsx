// Forms. The server says what is wrong: its errors[] are shown at their fields, anything else above the buttons. Fields
// keep their own values; a submit reads them by name.
import { createContext, type ComponentChildren, type TargetedEvent } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import { amountOf, type Amount } from '../amount';
import { ApiError, newKey, type FieldError } from '../api';
import { Button } from './basic';

/** What was typed. An empty field is null to the API. */
export class Values {
  constructor(
    private readonly form: FormData,
    readonly element: HTMLFormElement,
    readonly key: string,
  ) {}

  text(name: string): string {
    return String(this.form.get(name) ?? '');
  }
  trimmed(name: string): string {
    return this.text(name).trim();
  }
  optional(name: string): string | null {
    return this.trimmed(name) || null;
  }
  bool(name: string): boolean {
    return this.form.has(name);
  }
  all(name: string): string[] {
    return this.form.getAll(name).map(String);
  }
  file(name: string): File | null {
    const file = this.form.get(name);
    return file instanceof File && file.size > 0 ? file : null;
  }

  /** How many of something. */
  count(name: string): number | null {
    const text = this.trimmed(name);
    if (text === '') return null;
    if (!/^[-+]?\d{1,15}$/.test(text)) throw bad(name, 'Enter a whole number');
    return Number(text);
  }

  requiredCount(name: string): number {
    const count = this.count(name);
    if (count === null) throw bad(name, 'Enter a number');
    return count;
  }

  amount(name: string): Amount | null {
    const text = this.trimmed(name);
    if (text === '') return null;
    const amount = amountOf(text);
    if (!amount) throw bad(name, 'Enter an amount such as 1000.50, without separators between thousands');
    return amount;
  }

  requiredAmount(name: string): Amount {
    const amount = this.amount(name);
    if (!amount) throw bad(name, 'Enter an amount');
    return amount;
  }

  /** The viewer's local time, as UTC. */
  time(name: string): string | null {
    const text = this.trimmed(name);
    return text ? new Date(text).toISOString().replace(/\.\d+Z$/, 'Z') : null;
  }
}

/** An error of ours at a field, as the server would send it. */
export function bad(field: string, message: string): ApiError {
  return new ApiError(422, 'validation_failed', message, [{ field, code: 'client', message }]);
}

const Errors = createContext<Map<string, string>>(new Map());

interface FormProps {
  onSubmit: (values: Values) => Promise<unknown>;
  submit: string;
  danger?: boolean;
  onCancel?: () => void;
  children?: ComponentChildren;
  /** Fields of the body that are shown under another name: {body: shown}. */
  fieldOf?: Record<string, string>;
  inline?: boolean;
}

export function Form({ onSubmit, submit, danger, onCancel, children, fieldOf = {}, inline }: FormProps) {
  const [errors, setErrors] = useState<Map<string, string>>(new Map());
  const [general, setGeneral] = useState('');
  const [busy, setBusy] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  const alive = useRef(true);
  const key = useRef(newKey());
  useEffect(
    () => () => {
      alive.current = false;
    },
    [],
  );

  const show = (e: unknown) => {
    const list: FieldError[] = e instanceof ApiError ? e.errors : [];
    const named = list.map((f) => ({ ...f, field: fieldOf[f.field] ?? (f.field.split(/[.[]/)[0] as string) }));
    const known = named.filter((f) => element.current?.elements.namedItem(f.field));
    const rest = named.filter((f) => !known.includes(f)).map((f) => `${f.field}: ${f.message}`);
    const message = e instanceof Error ? e.message : String(e);
    setErrors(new Map(known.map((f) => [f.field, f.message])));
    setGeneral([...(known.length === 0 ? [message] : []), ...rest].join(' · '));
    if (known[0]) {
      const field = element.current?.elements.namedItem(known[0].field);
      if (field instanceof HTMLElement) field.focus();
    }
    // Whether an unanswered request took effect is not known: the same key makes its repetition harmless.
    if (e instanceof ApiError && e.status !== 0 && e.status < 500) key.current = newKey();
  };

  const send = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setErrors(new Map());
    setGeneral('');
    try {
      await onSubmit(new Values(new FormData(event.currentTarget), event.currentTarget, key.current));
      key.current = newKey();
    } catch (e) {
      if (alive.current) show(e);
    } finally {
      if (alive.current) setBusy(false);
    }
  };

  return (
    <form ref={element} class={inline ? 'form inline' : 'form'} onSubmit={send} noValidate>
      <Errors.Provider value={errors}>{children}</Errors.Provider>
      {general && (
        <p class="form-error" role="alert">
          {general}
        </p>
      )}
      <div class="form-actions">
        <Button type="submit" kind={danger ? 'danger' : 'primary'} disabled={busy}>
          {busy ? 'One moment…' : submit}
        </Button>
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
      </div>
    </form>
  );
}

interface FieldProps {
  name: string;
  label: string;
  hint?: ComponentChildren;
  optional?: boolean;
}
interface Control {
  id: string;
  name: string;
  'aria-invalid': boolean;
  'aria-describedby': string | undefined;
}

/** Label, control, hint and error, tied together. */
function Field({
  name,
  label,
  hint,
  optional,
  children,
}: FieldProps & { children: (control: Control) => ComponentChildren }) {
  const id = useId();
  const error = useContext(Errors).get(name);
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ') || undefined;
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional && <span class="muted"> (optional)</span>}
      </label>
      {children({ id, name, 'aria-invalid': error !== undefined, 'aria-describedby': described })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface TextProps extends FieldProps {
  type?: 'text' | 'email' | 'password' | 'search' | 'datetime-local' | 'url';
  value?: string | number | null;
  placeholder?: string;
  numeric?: boolean;
  autocomplete?: string;
  list?: string;
  onInput?: (value: string) => void;
  autofocus?: boolean;
}

export function TextField({
  type = 'text',
  value,
  placeholder,
  numeric,
  autocomplete = 'off',
  list,
  onInput,
  autofocus,
  ...field
}: TextProps) {
  return (
    <Field {...field}>
      {(control) => (
        <input
          {...control}
          type={type as 'text'}
          defaultValue={value === null || value === undefined ? '' : String(value)}
          placeholder={placeholder}
          inputMode={numeric ? 'decimal' : undefined}
          autocomplete={autocomplete}
          list={list}
          autofocus={autofocus}
          onInput={onInput && ((e) => onInput(e.currentTarget.value))}
          spellcheck={false}
        />
      )}
    </Field>
  );
}

interface AreaProps extends FieldProps {
  value?: string;
  rows?: number;
  onInput?: (value: string) => void;
}

export function TextArea({ value, rows = 4, onInput, ...field }: AreaProps) {
  return (
    <Field {...field}>
      {(control) => (
        <textarea
          {...control}
          rows={rows}
          defaultValue={value ?? ''}
          onInput={onInput && ((e) => onInput(e.currentTarget.value))}
        />
      )}
    </Field>
  );
}

export function ColorField({ value, ...field }: FieldProps & { value: string }) {
  return <Field {...field}>{(control) => <input {...control} type="color" defaultValue={value} />}</Field>;
}

export function FileField({ accept, ...field }: FieldProps & { accept?: string }) {
  return <Field {...field}>{(control) => <input {...control} type="file" accept={accept} />}</Field>;
}

interface SelectProps extends FieldProps {
  options: [string, string][];
  value?: string;
  onChange?: (value: string) => void;
}

export function Select({ options, value, onChange, ...field }: SelectProps) {
  return (
    <Field {...field}>
      {(control) => (
        <select {...control} onChange={onChange && ((e) => onChange(e.currentTarget.value))}>
          {options.map(([v, text]) => (
            <option key={v} value={v} selected={v === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Check({
  name,
  label,
  checked,
  value,
  hint,
}: {
  name: string;
  label: string;
  checked?: boolean;
  value?: string;
  hint?: string;
}) {
  const id = useId();
  return (
    <div class="check">
      <input
        type="checkbox"
        id={id}
        name={name}
        value={value ?? 'on'}
        defaultChecked={checked}
        aria-describedby={hint ? `${id}-hint` : undefined}
      />
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
