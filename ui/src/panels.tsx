// What stands beside the map: the chosen host or job, all jobs, the queue, links, events.
import type {ComponentChildren} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {readPaths} from './feed';
import {formatAgo, formatGbps, formatLarge, formatRanges, formatTime} from './format';
import {HOST_KINDS, KIND_OF, type Cost, type JobBlock, type Paths, type Scene, domainOf, hasEnded} from './model';

export interface Choice {
  job: string | null; // NAMESPACE/GANG
  host: number | null;
}
export interface Actions {
  chooseJob(job: string | null): void;
  chooseHost(host: number): void;
}

export function Section(props: {id: string; title: string; count?: number; open?: boolean; children: ComponentChildren}) {
  return (
    <details class="section" id={props.id} open={props.open ?? true}>
      <summary>
        <h2>{props.title}{props.count === undefined ? '' : ` (${props.count})`}</h2>
      </summary>
      {props.children}
    </details>
  );
}

export function Legend({scene}: {scene: Scene}) {
  const {gpus, hosts} = scene.totals;
  return (
    <ul class="legend" aria-label="Hosts by state">
      {HOST_KINDS.map((kind) => (
        <li key={kind.letter}>
          <span class={`swatch mark-${kind.mark} kind-${kind.letter}`} aria-hidden="true" />
          {kind.name} <b>{hosts[kind.letter] ?? 0}</b>
        </li>
      ))}
      <li>GPUs free <b>{gpus.free}</b> of {gpus.all}</li>
    </ul>
  );
}

const fullName = (job: JobBlock): string => `${job.namespace}/${job.name}`;

function Level({level}: {level: number | null}) {
  return level === null ? <span>-</span> : <span class="level" title="network priority, 0 is the lowest">{level}</span>;
}

export function JobsTable({scene, choice, actions}: {scene: Scene; choice: Choice; actions: Actions}) {
  const jobs = [...scene.jobs].filter(([key]) => !scene.queue.includes(key));
  if (jobs.length === 0) return <p class="empty">No job is placed.</p>;
  return (
    <div class="scroll"><table class="jobs">
      <thead>
        <tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Workers</th><th scope="col">Segments</th>{scene.domainNames.length > 0 && <th scope="col">Domains</th>}<th scope="col">Level</th><th scope="col">Sends</th></tr>
      </thead>
      <tbody>
        {jobs.map(([key, job]) => {
          const segments = new Set(job.hosts.map((host) => scene.segmentOf[host] ?? -1)).size;
          const network = scene.jobNetworks.get(key);
          return (
            <tr key={key} class={key === choice.job ? 'chosen' : hasEnded(job) ? 'ended' : ''}>
              <th scope="row">
                <button type="button" aria-pressed={key === choice.job}
                  onClick={() => actions.chooseJob(key === choice.job ? null : key)}>{fullName(job)}</button>
              </th>
              <td>{job.state}</td>
              <td>{job.ready === null ? job.workers : `${job.ready}/${job.workers}`}</td>
              <td>{hasEnded(job) ? '-' : segments}</td>
              {scene.domainNames.length > 0 && <td>{hasEnded(job) ? '-' : countDomains(scene, job)}</td>}
              <td><Level level={job.level} /></td>
              <td>{network ? formatGbps(network.gbps) : '-'}</td>
            </tr>
          );
        })}
      </tbody>
    </table></div>
  );
}

export function Queue({scene, choice, actions}: {scene: Scene; choice: Choice; actions: Actions}) {
  const jobs = scene.queue.map((key) => [key, scene.jobs.get(key)] as const);
  if (jobs.length === 0) return <p class="empty">No job waits.</p>;
  return (
    <ol class="queue">
      {jobs.map(([key, job]) => (
        <li key={key} class={key === choice.job ? 'chosen' : ''}>
          <button type="button" aria-pressed={key === choice.job}
            onClick={() => actions.chooseJob(key === choice.job ? null : key)}>{job ? fullName(job) : key}</button>
          {job && <span> {job.state}, {job.workers} workers, {job.gpus} GPUs, priority {job.priority}</span>}
          {job && <Reasons job={job} />}
        </li>
      ))}
    </ol>
  );
}

function Reasons({job}: {job: JobBlock}) {
  return (
    <ul class="reasons">
      {job.reasons.map((reason, i) => <li key={i}>{reason.message}</li>)}
      {job.relaxations.map((relaxation, i) => (
        <li key={`r${i}`} class="help">with <code>{relaxation.change}</code>: {relaxation.outcome}</li>
      ))}
    </ul>
  );
}

export function HostDetails({scene, host, actions}: {scene: Scene; host: number; actions: Actions}) {
  const segment = scene.segments[scene.segmentOf[host] ?? -1];
  const key = scene.jobOf[host] ?? null;
  const job = key === null ? undefined : scene.jobs.get(key);
  const name = scene.hostNames[host] ?? '';
  const events = scene.events.filter((event) => event.subject === `host/${name}`).slice(0, 5);
  return (
    <dl class="facts">
      <dt>Host</dt><dd><b>{name}</b></dd>
      <dt>Place</dt><dd>fabric pod {segment?.pod}, segment {segment?.name}{domainOf(scene, host) && `, domain ${domainOf(scene, host)}`}</dd>
      <dt>State</dt>
      <dd>{KIND_OF.get(scene.letters[host] ?? '')?.name}{scene.degraded.has(host) ? ', a port is down' : ''}</dd>
      {job && <><dt>Held by</dt><dd><button type="button" onClick={() => actions.chooseJob(key)}>{fullName(job)}</button> rank {scene.rankOf[host]}</dd></>}
      {events.length > 0 && <><dt>Lately</dt><dd>{events.map((e, i) => <div key={i}>{formatTime(e.timeMs)} {e.text}</div>)}</dd></>}
    </dl>
  );
}

const amount = (value: string, cap: string | null, per = ''): string => `${value}${per}${cap === null ? '' : ` of ${cap}`}`;

const rentedHosts = (cost: Cost): string[] =>
  cost.hosts.map(({pool, type, hosts, provided}) => `${provided} of ${hosts} hosts of pool ${pool}, ${type}`);

// Jobs that may rent hosts, whether they have any at present or not.
export const rentingJobs = (scene: Scene): [string, JobBlock, Cost][] =>
  [...scene.jobs].flatMap(([key, job]) => (job.cost ? [[key, job, job.cost]] : []));

export function Costs({scene, choice, actions}: {scene: Scene; choice: Choice; actions: Actions}) {
  return (
    <div class="scroll"><table class="costs">
      <thead>
        <tr><th scope="col">Job</th><th scope="col">Capacity</th><th scope="col">An hour</th><th scope="col">Spent</th><th scope="col">Hosts</th></tr>
      </thead>
      <tbody>
        {rentingJobs(scene).map(([key, job, cost]) => (
          <tr key={key} class={key === choice.job ? 'chosen' : hasEnded(job) ? 'ended' : ''}>
            <th scope="row"><button type="button" aria-pressed={key === choice.job}
              onClick={() => actions.chooseJob(key === choice.job ? null : key)}>{fullName(job)}</button></th>
            <td>{cost.phase}</td>
            <td>{amount(cost.rate, cost.rateCap)}</td>
            <td>{amount(cost.spent, cost.spentCap)}</td>
            <td>{rentedHosts(cost).map((line) => <div key={line}>{line}</div>)}</td>
          </tr>
        ))}
      </tbody>
    </table></div>
  );
}

const countDomains = (scene: Scene, job: JobBlock): number =>
  new Set(job.hosts.map((host) => scene.domainOf[host] ?? -1)).size;

function bySegment(scene: Scene, job: JobBlock): [string, number[]][] {
  const ranks = new Map<string, number[]>();
  job.hosts.forEach((host, rank) => {
    const segment = scene.segments[scene.segmentOf[host] ?? -1];
    const place = segment ? `${segment.pod}/${segment.name}` : 'gone';
    ranks.set(place, [...(ranks.get(place) ?? []), rank]);
  });
  return [...ranks];
}

export function JobDetails({scene, job: key, live, actions}: {scene: Scene; job: string; live: boolean; actions: Actions}) {
  const job = scene.jobs.get(key);
  if (!job) return <p class="empty">{key} is not there at this moment.</p>;
  const network = scene.jobNetworks.get(key);
  const events = scene.events.filter((event) => event.subject === `job/${key}`).slice(0, 8);
  return (
    <>
      <dl class="facts">
        <dt>{job.kind}</dt><dd><b>{fullName(job)}</b></dd>
        <dt>State</dt><dd>{job.state}{job.ready === null ? '' : `, ${job.ready} of ${job.workers} workers ready`}, plan {job.plan}{job.restarts > 0 ? `, ${job.restarts} restarts` : ''}</dd>
        <dt>Size</dt><dd>{job.workers} workers, {job.gpus} GPUs, priority {job.priority}</dd>
        {job.level !== null && <><dt>Network</dt><dd>level <Level level={job.level} />, intensity {formatLarge(job.intensity ?? 0)}FLOP per second of communication, {job.communicationSeconds} s of communication an iteration</dd></>}
        {network && <><dt>Traffic</dt><dd>{formatGbps(network.gbps)} in {network.flows} flows{network.unplanned > 0 ? `, ${network.unplanned} without a source port` : ''}</dd></>}
        {job.cost && <><dt>Cost</dt><dd>{amount(job.cost.rate, job.cost.rateCap, ' an hour')}; spent {amount(job.cost.spent, job.cost.spentCap)}{job.cost.moves > 0 ? `, moved ${job.cost.moves === 1 ? 'once' : `${job.cost.moves} times`}` : ''}{rentedHosts(job.cost).map((line) => <div key={line}>{line}</div>)}{job.cost.message && <div>{job.cost.message}</div>}</dd></>}
        {job.hosts.length > 0 && <><dt>Ranks</dt><dd>{bySegment(scene, job).map(([place, ranks]) => <div key={place}>{place}: {formatRanges(ranks)}</div>)}</dd></>}
        {events.length > 0 && <><dt>Lately</dt><dd>{events.map((e, i) => <div key={i} class={e.warning ? 'warning' : ''}>{formatTime(e.timeMs)} {e.text}</div>)}</dd></>}
      </dl>
      <Reasons job={job} />
      {live && network && <PathsList key={key} job={key} scene={scene} actions={actions} />}
    </>
  );
}

function PathsList({job, scene, actions}: {job: string; scene: Scene; actions: Actions}) {
  const [paths, setPaths] = useState<Paths | string | null>(null);
  const read = (): void => {
    readPaths(job).then(setPaths, (error: Error) => setPaths(error.message));
  };
  if (paths === null) return <button type="button" class="more" onClick={read}>Show a path of each rank</button>;
  if (typeof paths === 'string') return <p class="warning">{paths}</p>;
  const hosts = scene.jobs.get(job)?.hosts ?? [];
  return (
    <div class="scroll">
      <table class="paths">
        <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col">Rail</th><th scope="col">Port</th><th scope="col">Links</th></tr></thead>
        <tbody>
          {paths.paths.map((path, i) => (
            <tr key={i}>
              <td><button type="button" onClick={() => actions.chooseHost(hosts[path.from] ?? -1)}>{path.from}</button></td>
              <td><button type="button" onClick={() => actions.chooseHost(hosts[path.to] ?? -1)}>{path.to}</button></td>
              <td>{path.rail}</td>
              <td>{path.sourcePort || '-'}</td>
              <td>{path.links.length > 0 ? path.links.join(' ') : path.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="empty">{paths.paths.length} of {paths.flows} flows</p>
    </div>
  );
}

export function Links({scene, actions}: {scene: Scene; actions: Actions}) {
  const {network} = scene;
  if (!network.known || network.problem) return <p class="empty">{network.problem ?? 'Not known yet.'}</p>;
  if (network.busiest.length === 0) return <p class="empty">No job sends over links between switches.</p>;
  const shared = network.segments.reduce((sum, [, , count]) => sum + count, 0);
  return (
    <>
      <p class="empty">{shared === 0 ? 'No uplink is shared by two jobs.' : `${shared} ${shared === 1 ? 'uplink is' : 'uplinks are'} shared by two jobs or more.`}
        {scene.down.length > 0 && ` Down: ${scene.down.slice(0, 5).join(', ')}${scene.down.length > 5 ? ', ...' : ''}.`}</p>
      <div class="scroll">
        <table>
          <thead><tr><th scope="col">Link</th><th scope="col">Load</th><th scope="col">Jobs (level)</th></tr></thead>
          <tbody>
            {network.busiest.map((link) => (
              <tr key={link.link}>
                <th scope="row">{link.link}</th>
                <td class="load">
                  <meter min={0} max={1} high={0.9} value={Math.min(1, link.gbps / link.capacity)} aria-label={`load of ${link.link}`} />
                  {formatGbps(link.gbps)} of {formatGbps(link.capacity)}
                </td>
                <td>{link.jobs.map(([job, level]) => {
                  const known = scene.jobs.get(job);
                  return <div key={job}><button type="button" onClick={() => actions.chooseJob(job)}>{known ? fullName(known) : job}</button> <Level level={level} /></div>;
                })}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Events({scene, actions}: {scene: Scene; actions: Actions}) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5_000);
    return () => clearInterval(timer);
  }, []);
  if (scene.events.length === 0) return <p class="empty">Nothing has happened since this replica started.</p>;
  const choose = (subject: string): void => {
    if (subject.startsWith('job/')) return actions.chooseJob(subject.slice(4));
    const host = scene.hostNames.indexOf(subject.slice(5));
    if (host >= 0) actions.chooseHost(host);
  };
  return (
    <ul class="events">
      {scene.events.slice(0, 100).map((event, i) => {
        const job = scene.jobs.get(event.subject.slice(4));
        return (
          <li key={i} class={event.warning ? 'warning' : ''}>
            <time title={formatTime(event.timeMs)}>{formatAgo(now - event.timeMs)}</time>{' '}
            {event.subject && <button type="button" onClick={() => choose(event.subject)}>{job ? fullName(job) : event.subject.replace(/^\w+\//, '')}</button>}{' '}
            {event.text}
          </li>
        );
      })}
    </ul>
  );
}

export function SegmentsTable({scene}: {scene: Scene}) {
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Segment</th>{HOST_KINDS.map((kind) => <th scope="col" key={kind.letter}>{kind.name}</th>)}<th scope="col">Busiest uplink</th></tr></thead>
        <tbody>
          {scene.segments.map((segment, index) => {
            const letters = scene.letters.slice(segment.first, segment.first + segment.count);
            const load = scene.network.segments.find(([i]) => i === index);
            return (
              <tr key={index}>
                <th scope="row">{segment.pod}/{segment.name}</th>
                {HOST_KINDS.map((kind) => <td key={kind.letter}>{letters.filter((l) => l === kind.letter).length || ''}</td>)}
                <td>{load ? `${Math.round(load[4] * 100)} %` : '-'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

