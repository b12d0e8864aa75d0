// The legend, what is chosen, costs and events.
import {useEffect, useState} from 'preact/hooks';
import {readPaths} from './feed';
import {formatAgo, formatGbps, formatLarge, formatRanges, formatShare, formatTime} from './format';
import {goodputOf} from './goodput';
import {Reasons} from './jobs';
import {linkName, placeName} from './links';
import type {ColourBy} from './map';
import {HOST_KINDS, KIND_OF, OF_A_JOB, type Cost, type JobBlock, type Paths, type Scene, domainOf, hasEnded} from './model';
import {type Actions, JobButton, Level, Swatch, type View, fullName} from './parts';

const LEGEND_JOBS = 12;

export function Legend({view, colourBy, onColourBy}: {view: View; colourBy: ColourBy; onColourBy(by: ColourBy): void}) {
  const {scene, styles} = view;
  const {gpus, hosts} = scene.totals;
  const kinds = HOST_KINDS.filter(({letter}) => letter === 'f' || (hosts[letter] ?? 0) > 0);
  return (
    <div class={`legend by-${colourBy}`}>
      <ul aria-label="Hosts by state">
        {kinds.map((kind) => (
          <li key={kind.letter}>
            <span class={`swatch mark-${kind.mark} kind-${kind.letter}`} aria-hidden="true" />
            {kind.name}{colourBy === 'job' && OF_A_JOB.includes(kind.letter) && ' (colour of the job)'} <b>{hosts[kind.letter] ?? 0}</b>
          </li>
        ))}
        <li>GPUs free <b>{gpus.free}</b> of {gpus.all}</li>
        {scene.jobs.size > scene.queue.length && <li><span class="sample" aria-hidden="true">0</span>rank of the worker</li>}
        {scene.degraded.size > 0 && <li><span class="swatch corner" aria-hidden="true" />a port is down</li>}
        {scene.network.segments.length > 0 && <li><span class="swatch bar" aria-hidden="true" />load of the busiest uplink</li>}
        {scene.domainNames.length > 0 && <li><span class="swatch edge" aria-hidden="true" />edge of a domain</li>}
        <li class="choice">
          <span role="group" aria-label="Colours of hosts">
            Colours:
            {(['job', 'state'] as const).map((by) => (
              <button type="button" key={by} aria-pressed={by === colourBy} onClick={() => onColourBy(by)}>{by === 'job' ? 'jobs' : 'states'}</button>
            ))}
          </span>
        </li>
      </ul>
      {colourBy === 'job' && styles.size > 0 && (
        <ul class="jobs-legend" aria-label="Jobs by colour">
          {legendJobs(view).map((key) => <li key={key}><JobButton job={key} view={view} /></li>)}
          {styles.size > LEGEND_JOBS && <li>and {styles.size - LEGEND_JOBS} smaller ones</li>}
        </ul>
      )}
    </div>
  );
}

// The largest ones; what is chosen is always there.
function legendJobs({scene, styles, choice}: View): string[] {
  const size = (key: string): number => scene.jobs.get(key)?.hosts.length ?? 0;
  const keys = [...styles.keys()].sort((a, b) => size(b) - size(a) || (a < b ? -1 : 1));
  const shown = keys.slice(0, LEGEND_JOBS);
  return choice.job === null || shown.includes(choice.job) || !styles.has(choice.job) ? shown : [...shown, choice.job];
}

export function HostDetails({view, host}: {view: View; host: number}) {
  const {scene} = view;
  const segment = scene.segments[scene.segmentOf[host] ?? -1];
  const key = scene.jobOf[host] ?? null;
  const job = key === null ? undefined : scene.jobs.get(key);
  const name = scene.hostNames[host] ?? '';
  const events = scene.events.filter((event) => event.subject === `host/${name}`).slice(0, 5);
  return (
    <dl class="facts">
      <dt>Host</dt><dd><b>{name}</b></dd>
      <dt>Place</dt><dd>segment {segment?.name} of fabric pod {segment?.pod}{domainOf(scene, host) && `, domain ${domainOf(scene, host)}`}</dd>
      <dt>State</dt>
      <dd>{KIND_OF.get(scene.letters[host] ?? '')?.name}{scene.degraded.has(host) ? ', a port is down' : ''}</dd>
      {job && <><dt>Held by</dt><dd><JobButton job={key ?? ''} view={view} /> rank {scene.rankOf[host]}</dd></>}
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

export function Costs(view: View) {
  const {scene, choice} = view;
  return (
    <div class="scroll"><table class="costs">
      <thead>
        <tr><th scope="col">Job</th><th scope="col">Capacity</th><th scope="col">An hour</th><th scope="col">Spent</th><th scope="col">Hosts</th></tr>
      </thead>
      <tbody>
        {rentingJobs(scene).map(([key, job, cost]) => (
          <tr key={key} class={key === choice.job ? 'chosen' : hasEnded(job) ? 'ended' : ''}>
            <th scope="row"><JobButton job={key} view={view} /></th>
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

// Ranks by segment and, where hosts have some, by domain.
function byPlace(scene: Scene, job: JobBlock): [string, number[]][] {
  const ranks = new Map<string, number[]>();
  job.hosts.forEach((host, rank) => {
    const segment = scene.segments[scene.segmentOf[host] ?? -1];
    const domain = domainOf(scene, host);
    const place = segment ? `${placeName(segment.pod, segment.name)}${domain && ` ${domain}`}` : 'gone';
    ranks.set(place, [...(ranks.get(place) ?? []), rank]);
  });
  return [...ranks];
}

export function JobDetails({view, job: key, live}: {view: View; job: string; live: boolean}) {
  const {scene, actions} = view;
  const job = scene.jobs.get(key);
  if (!job) return <p class="empty">{key} is not there at this moment.</p>;
  const network = scene.jobNetworks.get(key);
  const goodput = goodputOf(job, scene.timeMs);
  const events = scene.events.filter((event) => event.subject === `job/${key}`).slice(0, 8);
  return (
    <>
      <dl class="facts">
        <dt>{job.kind}</dt><dd><Swatch style={view.styles.get(key)} /><b>{fullName(job)}</b></dd>
        <dt>State</dt><dd>{job.state}{job.ready === null ? '' : `, ${job.ready} of ${job.workers} workers ready`}, plan {job.plan}{job.restarts > 0 ? `, ${job.restarts} restarts` : ''}</dd>
        <dt>Size</dt><dd>{job.workers} workers, {job.gpus} GPUs, priority {job.priority}</dd>
        {job.level !== null && <><dt>Network</dt><dd>level <Level level={job.level} />, intensity {formatLarge(job.intensity ?? 0)}FLOP per second of communication, {job.communicationSeconds} s of communication an iteration</dd></>}
        {network && <><dt>Traffic</dt><dd>{formatGbps(network.gbps)} in {network.flows} flows{network.unplanned > 0 ? `, ${network.unplanned} without a source port` : ''}</dd></>}
        {network && network.share != null && <><dt>Pace</dt><dd>{formatShare(network.share)} of its pace without contention, as predicted</dd></>}
        {goodput && <><dt>Goodput</dt><dd>{formatShare(goodput.share)} of its GPU time; lost: {goodput.causes.map(([cause, seconds]) => `${formatLarge(seconds / 3600)} GPU hours, ${cause}`).join('; ') || 'nothing'}</dd></>}
        {job.cost && <><dt>Cost</dt><dd>{amount(job.cost.rate, job.cost.rateCap, ' an hour')}; spent {amount(job.cost.spent, job.cost.spentCap)}{job.cost.moves > 0 ? `, moved ${job.cost.moves === 1 ? 'once' : `${job.cost.moves} times`}` : ''}{rentedHosts(job.cost).map((line) => <div key={line}>{line}</div>)}{job.cost.message && <div>{job.cost.message}</div>}</dd></>}
        {job.hosts.length > 0 && <><dt>Ranks</dt><dd>{byPlace(scene, job).map(([place, ranks]) => <div key={place}>{place}: {formatRanges(ranks)}</div>)}</dd></>}
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
              <td>{path.links.length > 0 ? path.links.map((link) => <div key={link} title={link}>{linkName(link)}</div>) : path.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="empty">{paths.paths.length} of {paths.flows} flows</p>
    </div>
  );
}

export function Events({scene, actions}: View) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5_000);
    return () => clearInterval(timer);
  }, []);
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
