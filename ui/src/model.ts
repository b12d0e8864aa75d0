// What the operator sends (pkg/page/cluster_page.h describes every block), and one instant of it
// ready for drawing.

export interface Change {
  frame: number;
  from: number | null;
  timeMs: number;
  set: Record<string, unknown>;
  drop: string[];
}

export interface FabricBlock {
  name: string | null;
  problem: string | null;
  pods: {name: string; segments: {name: string; hosts: string[]; domains?: [string, number][]}[]}[];
}
export interface HostsBlock {
  states: string;
  degraded: number[];
}
export interface Condition {
  type: string;
  status: string;
  message: string;
  timeMs: number;
}
export interface Cost {
  phase: string;
  rate: string;
  rateCap: string | null;
  spent: string;
  spentCap: string | null;
  moves: number;
  message: string;
  hosts: {pool: string; type: string; hosts: number; provided: number}[];
}
export interface Work {
  sinceMs: number;
  untilMs: number | null;
  stoppedMs: number | null;
  lost: Record<string, number>; // GPU seconds by cause
}
export interface JobBlock {
  namespace: string;
  name: string;
  kind: string;
  state: string;
  workers: number;
  ready: number | null;
  gpus: number;
  priority: number;
  level: number | null;
  intensity?: number;
  communicationSeconds?: number;
  reasons: {code: string; message: string}[];
  relaxations: {change: string; outcome: string}[];
  hosts: number[];
  plan: number;
  restarts: number;
  conditions: Condition[];
  cost?: Cost | null;
  work?: Work | null;
}
export interface MoveBlock {
  job: string; // NAMESPACE/GANG, as those of `admits`
  from: string[]; // segments
  to: string[];
  hosts: number; // ranks that change theirs
  priceGpuSeconds: number;
  gainGpuSeconds: number;
  admits: string[]; // jobs that would start then
  why: string;
}
export interface JobNetworkBlock {
  flows: number;
  unplanned: number;
  gbps: number;
  share?: number | null;
  between: [number, number, number][];
}
export interface NetworkBlock {
  known: boolean;
  problem: string | null;
  segments: [number, number, number, number, number][];
  planes?: [number, number, number, number, number][];
  busiest: BusyLink[];
}
export interface BusyLink {
  link: string;
  name?: string; // with the switch as its operators call it, where they have a name of their own
  gbps: number;
  capacity: number;
  jobs: [string, number, number][];
}
export interface TotalsBlock {
  hosts: Record<string, number>;
  gpus: {all: number; free: number};
}
export interface EventEntry {
  timeMs: number;
  warning: boolean;
  subject: string;
  text: string;
}
export interface Paths {
  job: string;
  flows: number;
  unplanned: number;
  paths: {from: number; to: number; rail: number; sourcePort: number; links: string[]; reason: string}[];
}

export interface Segment {
  name: string;
  pod: string;
  first: number; // number of its first host
  count: number;
}

// The letters of pkg/page/cluster_page.h in the order of the legend. Colours: Okabe and Ito's palette,
// which people with every common form of colour blindness can tell apart; marks tell them apart
// without any colour. `quiet` is the colour where the map shows jobs by colour (styles.ts): hosts of
// jobs have theirs, the others are grey, and what is broken stands out. ../check-colours measures
// all of it.
export interface HostKind {
  letter: string;
  name: string;
  colour: string;
  quiet: string;
  mark: 'none' | 'cross' | 'slash' | 'backslash' | 'dot' | 'ring' | 'bar' | 'fill';
}
export const HOST_KINDS: readonly HostKind[] = [
  {letter: 'f', name: 'free', colour: '#d9dde3', quiet: '#d9dde3', mark: 'none'},
  {letter: 'r', name: 'running', colour: '#0072b2', quiet: '#8d96a3', mark: 'fill'},
  {letter: 'p', name: 'promised', colour: '#56b4e9', quiet: '#8d96a3', mark: 'ring'},
  {letter: 'o', name: 'other pods', colour: '#cc79a7', quiet: '#8d96a3', mark: 'bar'},
  {letter: 'b', name: 'backup', colour: '#009e73', quiet: '#8d96a3', mark: 'dot'},
  {letter: 'd', name: 'draining', colour: '#e69f00', quiet: '#8d96a3', mark: 'backslash'},
  {letter: 'c', name: 'cordoned', colour: '#f0e442', quiet: '#2b2b2b', mark: 'slash'},
  {letter: 't', name: 'tainted', colour: '#2b2b2b', quiet: '#2b2b2b', mark: 'cross'},
  {letter: 'x', name: 'not ready', colour: '#d55e00', quiet: '#d55e00', mark: 'cross'},
];
// Of the letters of hosts that a job works on: they have its colour.
export const OF_A_JOB = 'rpd';
export const KIND_OF = new Map(HOST_KINDS.map((kind) => [kind.letter, kind]));

// Blocks by key, changed in place by what comes from the operator.
export class Blocks {
  frame = 0;
  timeMs = 0;
  private blocks = new Map<string, unknown>();

  // False when the change does not follow what is here: everything has to be asked for again.
  apply(change: Change): boolean {
    if (change.from !== null && change.from !== this.frame) return false;
    if (change.from === null) this.blocks.clear();
    for (const [key, value] of Object.entries(change.set)) this.blocks.set(key, value);
    for (const key of change.drop) this.blocks.delete(key);
    this.frame = change.frame;
    this.timeMs = change.timeMs;
    return true;
  }

  get<T>(key: string, otherwise: T): T {
    return (this.blocks.get(key) as T | undefined) ?? otherwise;
  }

  *startingWith<T>(prefix: string): Iterable<[string, T]> {
    for (const [key, value] of this.blocks) {
      if (key.startsWith(prefix)) yield [key.slice(prefix.length), value as T];
    }
  }
}

// One instant, by host number.
export interface Scene {
  frame: number;
  timeMs: number;
  fabric: FabricBlock;
  segments: Segment[];
  hostNames: string[];
  segmentOf: Int32Array;
  domainNames: string[]; // empty: hosts have no domains
  domainOf: Int32Array; // index into domainNames, or -1
  letters: string[]; // of every host
  degraded: Set<number>;
  jobs: Map<string, JobBlock>; // by NAMESPACE/GANG
  jobOf: (string | null)[];
  rankOf: Int32Array;
  queue: string[];
  moves: MoveBlock[]; // proposed, of jobs that are there
  totals: TotalsBlock;
  network: NetworkBlock;
  jobNetworks: Map<string, JobNetworkBlock>;
  down: string[];
  warnings: string[];
  events: EventEntry[];
}

const ENDED = new Set(['Finished', 'Succeeded', 'Failed']);
export const hasEnded = (job: JobBlock): boolean => ENDED.has(job.state);

export function sceneOf(blocks: Blocks): Scene {
  const fabric = blocks.get<FabricBlock>('fabric', {name: null, problem: null, pods: []});
  const segments: Segment[] = [];
  const hostNames: string[] = [];
  const domainNames: string[] = [];
  const domains: number[] = [];
  for (const pod of fabric.pods) {
    for (const segment of pod.segments) {
      segments.push({name: segment.name, pod: pod.name, first: hostNames.length, count: segment.hosts.length});
      for (const host of segment.hosts) hostNames.push(host);
      for (const [name, count] of segment.domains ?? []) {
        for (let i = 0; i < count; ++i) domains.push(domainNames.length);
        domainNames.push(name);
      }
    }
  }
  const segmentOf = new Int32Array(hostNames.length);
  const letters: string[] = new Array<string>(hostNames.length).fill('f');
  const degraded = new Set<number>();
  segments.forEach((segment, index) => {
    segmentOf.fill(index, segment.first, segment.first + segment.count);
    const hosts = blocks.get<HostsBlock>(`hosts/${index}`, {states: '', degraded: []});
    for (let i = 0; i < segment.count; ++i) letters[segment.first + i] = hosts.states[i] ?? 'f';
    for (const i of hosts.degraded) degraded.add(segment.first + i);
  });
  const jobs = new Map<string, JobBlock>(blocks.startingWith<JobBlock>('job/'));
  const jobOf: (string | null)[] = new Array<string | null>(hostNames.length).fill(null);
  const rankOf = new Int32Array(hostNames.length).fill(-1);
  for (const [key, job] of jobs) {
    if (hasEnded(job)) continue;
    job.hosts.forEach((host, rank) => {
      if (host < 0 || host >= hostNames.length) return;
      jobOf[host] = key;
      rankOf[host] = rank;
    });
  }
  return {
    frame: blocks.frame,
    timeMs: blocks.timeMs,
    fabric,
    segments,
    hostNames,
    segmentOf,
    domainNames,
    domainOf: Int32Array.from(hostNames, (_, host) => domains[host] ?? -1),
    letters,
    degraded,
    jobs,
    jobOf,
    rankOf,
    queue: blocks.get<string[]>('queue', []),
    moves: blocks.get<MoveBlock[]>('moves', []).filter((move) => jobs.has(move.job)),
    totals: blocks.get<TotalsBlock>('totals', {hosts: {}, gpus: {all: 0, free: 0}}),
    network: blocks.get<NetworkBlock>('network', {known: false, problem: null, segments: [], busiest: []}),
    jobNetworks: new Map(blocks.startingWith<JobNetworkBlock>('net/')),
    down: blocks.get<string[]>('down', []),
    warnings: blocks.get<string[]>('warnings', []),
    events: blocks.get<EventEntry[]>('events', []),
  };
}

// What a screen reader says of a host.
export function describeHost(scene: Scene, host: number): string {
  const segment = scene.segments[scene.segmentOf[host] ?? -1];
  const kind = KIND_OF.get(scene.letters[host] ?? '')?.name ?? 'unknown';
  const key = scene.jobOf[host];
  const job = key ? scene.jobs.get(key) : undefined;
  const rank = job ? `, rank ${scene.rankOf[host]} of ${job.namespace}/${job.name}` : '';
  const faulty = scene.degraded.has(host) ? ', a port is down' : '';
  const domain = domainOf(scene, host);
  return `${scene.hostNames[host]}, ${segment?.pod}/${segment?.name}${domain && `, domain ${domain}`}, ${kind}${rank}${faulty}`;
}

// The name of a host's domain; empty: hosts have no domains.
export const domainOf = (scene: Scene, host: number): string => scene.domainNames[scene.domainOf[host] ?? -1] ?? '';
