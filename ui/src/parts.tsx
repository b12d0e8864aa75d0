// What every panel is made of.
import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {JobBlock, Scene} from './model';
import type {JobStyle, Styles} from './styles';
import {JOB_COLOURS} from './styles';

export interface Choice {
  job: string | null; // NAMESPACE/GANG
  host: number | null;
}
export interface Actions {
  chooseJob(job: string | null): void;
  chooseHost(host: number): void;
}
export interface View {
  scene: Scene;
  choice: Choice;
  actions: Actions;
  styles: Styles;
}

// Closed, it has no content: a table of all segments costs nothing until somebody looks. Printed,
// all are open.
export function Section(props: {id: string; title: string; count?: number; open?: boolean; children: () => ComponentChildren}) {
  const [open, setOpen] = useState(props.open ?? true);
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = (): void => setPrinting(true);
    const end = (): void => setPrinting(false);
    addEventListener('beforeprint', begin);
    addEventListener('afterprint', end);
    return () => {
      removeEventListener('beforeprint', begin);
      removeEventListener('afterprint', end);
    };
  }, []);
  return (
    <details class="section" id={props.id} open={open || printing} onToggle={(event) => !printing && setOpen(event.currentTarget.open)}>
      <summary>
        <h2>{props.title}{props.count === undefined ? '' : ` (${props.count})`}</h2>
      </summary>
      {(open || printing) && props.children()}
    </details>
  );
}

const MOST_ROWS = 100;

// The first rows of a long list, and a button for the others.
export function useRows<Row>(rows: Row[]): [Row[], ComponentChildren] {
  const [all, setAll] = useState(false);
  if (all || rows.length <= MOST_ROWS) return [rows, null];
  return [rows.slice(0, MOST_ROWS), <button type="button" class="more" onClick={() => setAll(true)}>Show all {rows.length}</button>];
}

export const fullName = (job: JobBlock): string => `${job.namespace}/${job.name}`;

export function Swatch({style}: {style: JobStyle | undefined}) {
  if (!style) return null;
  return <span class={`swatch job-${style.slot % JOB_COLOURS.length} pattern-${style.pattern}`} aria-hidden="true" />;
}

// A job's name with its colour; pressed again, it is not chosen any more.
export function JobButton({job: key, view}: {job: string; view: View}) {
  const job = view.scene.jobs.get(key);
  const name = job ? fullName(job) : key;
  const chosen = key === view.choice.job;
  return (
    <button type="button" class="job" title={name} aria-pressed={chosen} onClick={() => view.actions.chooseJob(chosen ? null : key)}>
      <Swatch style={view.styles.get(key)} />{name}
    </button>
  );
}

export function Level({level}: {level: number | null}) {
  return level === null ? <span>-</span> : <span class="level" title="network priority, 0 is the lowest">{level}</span>;
}

// A line to paste somewhere. A browser without a clipboard marks it instead.
export function Copyable({text}: {text: string}) {
  const code = useRef<HTMLElement>(null);
  const [answer, setAnswer] = useState('');
  const select = (): void => {
    if (code.current) getSelection()?.selectAllChildren(code.current);
    setAnswer('Selected');
  };
  const copy = (): void => {
    if (!navigator.clipboard) return select();
    navigator.clipboard.writeText(text).then(() => setAnswer('Copied'), select);
  };
  return (
    <span class="copyable">
      <code ref={code}>{text}</code>{' '}
      <button type="button" class="copy" aria-label={`Copy: ${text}`} onClick={copy}>Copy</button>
      <span role="status">{answer}</span>
    </span>
  );
}
