// A stand-in for the operator: the built page and frames of a cluster of any size, over HTTP as
// pkg/page/hub.h describes it. The same headers, so that the browser's rules hold in tests, too.
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const dist = join(dirname(fileURLToPath(import.meta.url)), '../dist');
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = {html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml'};

const two = (n) => String(n).padStart(2, '0');

const HOUR_MS = 3_600_000;
const COST = {
  phase: 'Provisioned', rate: '24.50 EUR', rateCap: '40.00 EUR', spent: '7.25 EUR', spentCap: null, moves: 1, message: '',
  hosts: [{pool: 'a100-spot', type: 'Spot', hosts: 24, provided: 24}],
};

// A busy cluster: jobs of 24 hosts one after the other, every kind of host, two jobs that wait.
// `domain`: hosts of a domain; 0: hosts have none. `sizes`: hosts by name of the jobs, instead.
export function clusterBlocks({pods = 1, segments = 2, hosts = 136, seed = 1, domain = 0, sizes = null} = {}) {
  let random = seed;
  const next = (n) => ((random = (random * 1103515245 + 12345) % 2147483648) >> 8) % n;
  const blocks = {};
  const fabric = {name: 'hpn', problem: null, pods: []};
  const letters = [];
  for (let p = 0; p < pods; ++p) {
    const pod = {name: `p${two(p)}`, segments: []};
    for (let s = 0; s < segments; ++s) {
      const segment = `p${two(p)}s${two(s)}`;
      const names = [];
      for (let h = 0; h < hosts; ++h) {
        names.push(`${segment}h${String(h).padStart(3, '0')}`);
        const dice = next(200);
        letters.push(h >= hosts - 8 ? 'b' : dice === 0 ? 'x' : dice === 1 ? 'd' : dice === 2 ? 't' : dice < 6 ? 'o' : 'f');
      }
      pod.segments.push({name: segment, hosts: names});
      if (domain > 0) {
        pod.segments.at(-1).domains = Array.from({length: Math.ceil(hosts / domain)}, (_, d) => [`${segment}d${d}`, Math.min(domain, hosts - d * domain)]);
      }
    }
    fabric.pods.push(pod);
  }
  blocks.fabric = fabric;
  const free = letters.map((letter, i) => (letter === 'f' ? i : -1)).filter((i) => i >= 0);
  const jobs = Object.entries(sizes ?? Object.fromEntries(Array.from({length: Math.floor((free.length * 0.8) / 24)}, (_, j) => [`job${j}`, 24])));
  const count = pods * segments;
  const segmentOf = (host) => Math.floor(host / hosts);
  const now = Date.now();
  let used = 0;
  jobs.forEach(([name, size], j) => {
    const mine = free.slice(used, (used += size));
    const promised = j % 9 === 8;
    for (const host of mine) letters[host] = promised ? 'p' : 'r';
    const key = `demo/trainingjob-${name}`;
    blocks[`job/${key}`] = jobBlock(name, {
      state: promised ? 'Placed' : 'Running', ready: promised ? 3 : size, level: j % 8, hosts: mine,
      intensity: 1.2e15, communicationSeconds: 0.31, plan: 1, cost: j === 0 ? COST : null,
      work: promised ? null : {sinceMs: now - 10 * HOUR_MS, untilMs: null, stoppedMs: null, lost: j === 0 ? {HostLost: size * 8 * 720} : {}},
    });
    const [a, b] = [segmentOf(mine[0]), segmentOf(mine.at(-1))];
    const gbps = size * 37.5;
    blocks[`net/${key}`] = {flows: 16 * size, unplanned: 0, gbps, share: 1 - 0.03 * (j % 3),
      between: a === b ? [[a, a, gbps]] : [[a, a, gbps / 3], [a, b, gbps / 3], [b, a, gbps / 3]]};
  });
  const keys = jobs.map(([name]) => `demo/trainingjob-${name}`);
  for (const [name, workers] of [['waits', 140], ['too-big', 99999]]) {
    blocks[`job/demo/trainingjob-${name}`] = jobBlock(name, {
      state: name === 'waits' ? 'Waiting' : 'Never', workers, gpus: workers * 8, ready: 0,
      reasons: [{code: 'NotEnoughHosts', message: `${workers - 60} hosts short in the fabric`}],
      relaxations: name === 'waits' ? [
        {change: 'placement: {data: {within: FabricPod}}; wait: until hosts are free', outcome: 'Placed'},
        {change: 'backup hosts: used', outcome: 'NotNow'},
        {change: 'hosts: 80 more in segment p00s01', outcome: 'Placed'},
      ] : [],
    });
  }
  blocks.queue = ['demo/trainingjob-waits', 'demo/trainingjob-too-big'];
  blocks.moves = sizes ? [] : [
    {job: keys[0], from: ['p00s00'], to: ['p00s01'], hosts: 12, priceGpuSeconds: 86_400, gainGpuSeconds: 691_200,
      admits: ['demo/trainingjob-waits'], why: 'demo/waits fits then'},
    {job: 'demo/trainingjob-gone', from: ['p00s00'], to: ['p00s01'], hosts: 1, priceGpuSeconds: 1, gainGpuSeconds: 2, admits: [], why: ''},
  ];
  const totals = {};
  for (const letter of letters) totals[letter] = (totals[letter] ?? 0) + 1;
  blocks.totals = {hosts: totals, gpus: {all: letters.length * 8, free: (totals.f ?? 0) * 8}};
  for (let s = 0; s < count; ++s) {
    blocks[`hosts/${s}`] = {states: letters.slice(s * hosts, s * hosts + hosts).join(''), degraded: s % 5 === 0 ? [3] : []};
  }
  blocks.network = {
    known: true, problem: null,
    segments: Array.from({length: count}, (_, s) => [s, 240, s % 3, 4000 + 100 * s, ((s * 37) % 100) / 100]),
    planes: [[count * 120, count, 2100, 0.98, 0], [count * 120, 0, 1900, 0.95, 1]],
    // Sixteen that are alike, some single ones, and many that carry next to nothing.
    busiest: Array.from({length: 40}, (_, i) => {
      const gbps = i < 16 ? 390 : i < 19 ? 330 - 60 * (i - 16) : 0.004;
      return {link: `p00/p00s0${i < 16 ? 0 : 1}/tor-r${i % 8}-p${Math.floor(i / 8) % 2}:u${i < 16 ? 16 : i}.${i < 16 ? 'up' : 'down'}`, gbps, capacity: 400,
        ...(i < 2 ? {name: `leaf-a${i}:u16.up`} : {}), jobs: i < 16 ? [[keys[0], 7, 300], [keys[1], 5, 90]] : [[keys[0], 7, gbps]]};
    }),
  };
  blocks.down = ['p00s00h003:r0p1'];
  blocks.warnings = ['Node x1: metadata.labels.yardmaster.dev/segment: is missing'];
  blocks.events = [{timeMs: now - 4000, warning: true, subject: `job/${keys[0]}`, text: 'moves rank 3 from p00s00h003 to p00s00h128'},
    {timeMs: now - 60000, warning: true, subject: 'host/p00s00h003', text: 'is not ready'}];
  return blocks;
}

function jobBlock(name, fields) {
  const workers = fields.hosts?.length ?? fields.workers ?? 1;
  return {
    namespace: 'demo', name, kind: 'TrainingJob', workers, ready: workers, gpus: workers * 8, priority: 0, level: null,
    reasons: [], relaxations: [], hosts: [], plan: 0, restarts: 0, conditions: [], cost: null, state: 'Running', ...fields,
  };
}

// Serves frames; publish() adds one. Ids count from 1.
export class Operator {
  frames = [];
  waiting = [];

  publish(blocks, timeMs = Date.now()) {
    this.frames.push({id: this.frames.length + 1, timeMs, blocks});
    for (const {response, from} of this.waiting.splice(0)) this.sendEvent(response, from);
  }

  change(from, to) {
    const set = {};
    for (const [key, value] of Object.entries(to.blocks)) {
      if (from && JSON.stringify(from.blocks[key]) === JSON.stringify(value)) continue;
      set[key] = value;
    }
    const drop = from ? Object.keys(from.blocks).filter((key) => !(key in to.blocks)) : [];
    return {frame: to.id, from: from?.id ?? null, timeMs: to.timeMs, set, drop};
  }

  sendEvent(response, from) {
    const latest = this.frames.at(-1);
    response.end(`retry: 100\nid: ${latest.id}\ndata: ${JSON.stringify(this.change(this.frames[from - 1], latest))}\n\n`);
  }

  async handle(request, response) {
    const url = new URL(request.url, 'http://localhost');
    for (const [name, value] of [['Content-Security-Policy', POLICY], ['X-Content-Type-Options', 'nosniff'], ['Cache-Control', 'no-store']]) {
      response.setHeader(name, value);
    }
    const json = (value) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(value));
    };
    if (url.pathname === '/api/events') {
      response.setHeader('Content-Type', 'text/event-stream');
      const from = Number(request.headers['last-event-id'] ?? 0);
      if (from === this.frames.length) return void this.waiting.push({response, from});
      return this.sendEvent(response, from);
    }
    if (url.pathname === '/api/frames') return json(this.frames.map((frame) => [frame.id, frame.timeMs]));
    if (url.pathname === '/api/frame') return json(this.change(null, this.frames[Number(url.searchParams.get('id')) - 1]));
    if (url.pathname === '/api/paths') {
      return json({job: url.searchParams.get('job'), flows: 384, unplanned: 0, paths: [
        {from: 0, to: 1, rail: 0, sourcePort: 50123, links: ['p00s00h000:r0p0.up', 'p00s00h001:r0p0.down'], reason: ''}]});
    }
    const name = url.pathname === '/' ? 'index.html' : url.pathname.slice(1);
    try {
      response.setHeader('Content-Type', `${TYPES[name.split('.').at(-1)]}; charset=utf-8`);
      response.end(await readFile(join(dist, name)));
    } catch {
      response.statusCode = 404;
      response.end('not found');
    }
  }

  // The address it serves on.
  async listen() {
    this.server = createServer((request, response) => void this.handle(request, response));
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${this.server.address().port}/`;
  }

  close() {
    for (const {response} of this.waiting.splice(0)) response.destroy();
    this.server.closeAllConnections();
    this.server.close();
  }
}
