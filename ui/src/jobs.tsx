// Jobs that have their place, and those that wait.
import {useState} from 'preact/hooks';
import {type Advice, adviceOf} from './advice';
import {formatGbps, formatLarge, formatShare} from './format';
import {goodputOf} from './goodput';
import {placeName} from './links';
import {type JobBlock, type Scene, hasEnded} from './model';
import {Copyable, JobButton, Level, type View, fullName, useRows} from './parts';

interface Row {
  key: string;
  job: JobBlock;
  segments: number;
  domains: number;
  gbps: number;
  goodput: number | null;
  words: string; // that a filter finds
}

function rowOf(scene: Scene, key: string, job: JobBlock): Row {
  const here = hasEnded(job) ? [] : job.hosts;
  const segments = new Set(here.map((host) => scene.segmentOf[host] ?? -1));
  const places = [...segments].map((index) => scene.segments[index]).map((s) => (s ? placeName(s.pod, s.name) : ''));
  return {
    key,
    job,
    segments: segments.size,
    domains: new Set(here.map((host) => scene.domainOf[host] ?? -1)).size,
    gbps: scene.jobNetworks.get(key)?.gbps ?? 0,
    goodput: goodputOf(job, scene.timeMs)?.share ?? null,
    words: [fullName(job), job.state, job.kind, ...places].join(' ').toLowerCase(),
  };
}

interface Column {
  title: string;
  order(a: Row, b: Row): number; // before the other when sorted upwards
  wide?: string; // its class, where narrow screens leave it out
}

const COLUMNS: readonly Column[] = [
  {title: 'Job', order: (a, b) => (fullName(a.job) < fullName(b.job) ? -1 : 1)},
  {title: 'State', order: (a, b) => (a.job.state < b.job.state ? -1 : a.job.state > b.job.state ? 1 : 0)},
  {title: 'Workers', order: (a, b) => a.job.workers - b.job.workers},
  {title: 'Goodput', order: (a, b) => (a.goodput ?? 2) - (b.goodput ?? 2)},
  {title: 'Segments', order: (a, b) => a.segments - b.segments, wide: 'wide'},
  {title: 'Domains', order: (a, b) => a.domains - b.domains, wide: 'wide'},
  {title: 'Level', order: (a, b) => (a.job.level ?? -1) - (b.job.level ?? -1)},
  {title: 'Sends', order: (a, b) => a.gbps - b.gbps, wide: 'wide sends'},
];

export function JobsTable(view: View) {
  const {scene, choice} = view;
  const [filter, setFilter] = useState('');
  const [sort, setSort] = useState({title: 'Job', down: false});
  const waiting = new Set(scene.queue);
  const placed = [...scene.jobs].filter(([key]) => !waiting.has(key)).map(([key, job]) => rowOf(scene, key, job));
  const wanted = filter.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const found = placed.filter((row) => wanted.every((word) => row.words.includes(word)));
  const order = COLUMNS.find((column) => column.title === sort.title)?.order ?? (() => 0);
  found.sort((a, b) => (sort.down ? order(b, a) : order(a, b)) || (a.key < b.key ? -1 : 1));
  const [rows, more] = useRows(found);
  const columns = COLUMNS.filter(({title}) =>
    (title !== 'Domains' || scene.domainNames.length > 0) && (title !== 'Goodput' || placed.some((row) => row.goodput !== null)));
  const cells: Record<string, (row: Row) => preact.ComponentChildren> = {
    State: ({job}) => job.state,
    Workers: ({job}) => (job.ready === null ? job.workers : `${job.ready}/${job.workers}`),
    Segments: ({segments}) => segments || '-',
    Domains: ({domains}) => domains || '-',
    Level: ({job}) => <Level level={job.level} />,
    Sends: ({gbps}) => (gbps > 0 ? formatGbps(gbps) : '-'),
    Goodput: ({goodput}) => (goodput === null ? '-' : formatShare(goodput)),
  };
  return (
    <>
      <p class="filter">
        <input type="search" value={filter} placeholder="Filter: name, state, segment" aria-label="Filter jobs by name, state or segment"
          onInput={(event) => setFilter(event.currentTarget.value)} />
        <output>{filter === '' ? '' : `${found.length} of ${placed.length}`}</output>
      </p>
      <div class="scroll"><table class={scene.domainNames.length > 0 ? 'jobs with-domains' : 'jobs'}>
        <thead>
          <tr>
            {columns.map(({title, wide}) => {
              const mine = sort.title === title;
              return (
                <th key={title} scope="col" class={wide} aria-sort={!mine ? 'none' : sort.down ? 'descending' : 'ascending'}>
                  <button type="button" onClick={() => setSort({title, down: mine && !sort.down})}>{title}{mine && <span aria-hidden="true">{sort.down ? ' \u25BE' : ' \u25B4'}</span>}</button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key} class={row.key === choice.job ? 'chosen' : hasEnded(row.job) ? 'ended' : ''}>
              <th scope="row"><JobButton job={row.key} view={view} /></th>
              {columns.slice(1).map(({title, wide}) => <td key={title} class={wide}>{cells[title]?.(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table></div>
      {more}
    </>
  );
}

export function Queue(view: View) {
  const {scene, choice} = view;
  const [keys, more] = useRows(scene.queue);
  return (
    <>
      <ol class="queue">
        {keys.map((key) => {
          const job = scene.jobs.get(key);
          return (
            <li key={key} class={key === choice.job ? 'chosen' : ''}>
              <JobButton job={key} view={view} />
              {job && <span> {job.state}, {job.workers} workers, {job.gpus} GPUs, priority {job.priority}</span>}
              {job && <Reasons job={job} />}
            </li>
          );
        })}
      </ol>
      {more}
    </>
  );
}

// Moves of running jobs that would earn their price.
export function Moves(view: View) {
  const {scene} = view;
  const hours = (gpuSeconds: number): string => `${formatLarge(gpuSeconds / 3600)} GPU hours`;
  return (
    <ol class="queue">
      {scene.moves.map((move, i) => {
        const job = scene.jobs.get(move.job);
        const admitted = move.admits.filter((key) => scene.jobs.has(key));
        return (
          <li key={i}>
            <JobButton job={move.job} view={view} />
            <span> {move.hosts === 1 ? 'one host' : `${move.hosts} hosts`} of {move.from.join(', ')} to {move.to.join(', ')}; costs {hours(move.priceGpuSeconds)}, gains {hours(move.gainGpuSeconds)}</span>
            <ul class="reasons"><li>{move.why}</li></ul>
            {admitted.length > 0 && <div>Then there is a place for {admitted.map((key) => <JobButton key={key} job={key} view={view} />)}</div>}
            {job && <Copyable text={`kubectl yardmaster rebalance --job ${fullName(job)} --apply`} />}
          </li>
        );
      })}
    </ol>
  );
}

const SHOWN_ADVICE = 2;

export function Reasons({job}: {job: JobBlock}) {
  const advice = job.relaxations.map((relaxation) => adviceOf(job, relaxation));
  const others = advice.slice(SHOWN_ADVICE);
  return (
    <>
      {job.reasons.length > 0 && <ul class="reasons">{job.reasons.map((reason, i) => <li key={i}>{reason.message}</li>)}</ul>}
      {advice.length > 0 && <AdviceList advice={advice.slice(0, SHOWN_ADVICE)} />}
      {others.length > 0 && (
        <details class="others">
          <summary>{others.length} more that would help</summary>
          <AdviceList advice={others} />
        </details>
      )}
    </>
  );
}

function AdviceList({advice}: {advice: Advice[]}) {
  return (
    <ul class="help" aria-label="What would help">
      {advice.map(({code, text, outcome}, i) => (
        <li key={i}>
          {code && <Copyable text={code} />} {text} <b>{'\u2192'} {outcome}</b>
        </li>
      ))}
    </ul>
  );
}
