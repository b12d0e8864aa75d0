// The map of the fabric on a canvas: every host a cell, panned and zoomed.
//
// Cost. Each segment is kept as a small bitmap of one pixel a host, painted anew only when its hosts
// change; a frame scales those in sight, and draws marks for the hosts in sight once cells are large
// enough to show them. So panning over 16,320 hosts costs a hundred images a frame.
import {CELL, type Layout, type SegmentBox, cellOf, layoutOf} from './layout';
import {HOST_KINDS, KIND_OF, OF_A_JOB, type Scene, type Segment} from './model';
import {type JobStyle, type Styles, inkOn, rgbOf} from './styles';

const MARK_PX = 7; // cells smaller than this show colours alone
const RANK_PX = 22;
const PATTERN_PX = 12;
const TAG_FONT_PX = 10;
const TAG_PX = 18; // from this size of a cell on, jobs have their names on the map
const MIN_SCALE = 0.05;
const MAX_SCALE = 8;
const FADED = 0.22; // of hosts outside of the chosen job
const INK = '#1b1f24';
const DOMAIN_EDGE = '#8a94a3';

const STATE_COLOURS = new Map(HOST_KINDS.map((kind) => [kind.letter, kind.colour]));
const QUIET_COLOURS = new Map(HOST_KINDS.map((kind) => [kind.letter, kind.quiet]));
const QUIET_INKS = new Map(HOST_KINDS.map((kind) => [kind.letter, inkOn(kind.quiet)]));

// The mark of the time at which the map was drawn first, for tests of the speed.
const FIRST_MAP = 'map';

export type ColourBy = 'job' | 'state';

export interface MapCallbacks {
  onHost(host: number | null): void; // chosen by a click or the keyboard
  onJob(job: string | null): void;
  onCursor(host: number | null): void; // under the pointer or the keyboard's cursor
}

interface Tile {
  key: string;
  canvas: HTMLCanvasElement;
  marked: number[]; // hosts of the segment that have a mark
  edges: Path2D; // lines between the hosts of different jobs
  domains: Path2D; // lines between the hosts of different domains
  patterns: Map<string, Path2D>; // by ink: what tells jobs with the same colour apart
  tags: Tag[];
}

// Where a job's name stands: above the first of its longest rows in a segment.
interface Tag {
  name: string;
  width: number; // of the name, in pixels
  first: number; // by the place in the segment
  hosts: number; // in that row
}

export class FabricMap {
  private scene: Scene | null = null;
  private styles: Styles = new Map();
  private colourBy: ColourBy = 'job';
  private layout: Layout = {segments: [], pods: [], width: 0, height: 0};
  private layoutKey = '';
  private aspect = 0; // that it was made for
  private tiles: Tile[] = [];
  private scale = 1;
  private x = 0; // of the map's origin on the canvas
  private y = 0;
  private fitted = true;
  private job: string | null = null;
  private host: number | null = null;
  private cursor: number | null = null;
  private pending = 0;
  private drag: {x: number; y: number; moved: boolean} | null = null;
  private readonly context: CanvasRenderingContext2D;
  // Times of the last frames in milliseconds, for tests of the speed.
  readonly frameTimes: number[] = [];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly callbacks: MapCallbacks,
  ) {
    const context = canvas.getContext('2d', {alpha: false});
    if (!context) throw new Error('this browser has no canvas');
    this.context = context;
    new ResizeObserver(() => this.resize()).observe(canvas);
    canvas.addEventListener('pointerdown', (event) => this.pointerDown(event));
    canvas.addEventListener('pointermove', (event) => this.pointerMove(event));
    canvas.addEventListener('pointerup', (event) => this.pointerUp(event));
    canvas.addEventListener('pointercancel', () => { this.drag = null; }); // the page is scrolled instead
    canvas.addEventListener('pointerleave', () => this.setCursor(null));
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    canvas.addEventListener('dblclick', () => this.fit());
    canvas.addEventListener('keydown', (event) => this.keyDown(event));
  }

  setScene(scene: Scene, styles: Styles, colourBy: ColourBy): void {
    this.scene = scene;
    this.styles = styles;
    this.colourBy = colourBy;
    const key = JSON.stringify(scene.segments.map((s) => [s.pod, s.name, s.count]));
    if (key !== this.layoutKey) {
      this.layoutKey = key;
      this.relayout();
    }
    this.paintTiles();
    this.redraw();
  }

  select(job: string | null, host: number | null): void {
    if (job === this.job && host === this.host) return;
    this.job = job;
    this.host = host;
    this.paintTiles();
    this.redraw();
  }

  // Moves the map so that a host is in the middle, large enough to be seen.
  show(host: number): void {
    const cell = this.cell(host);
    if (!cell) return;
    this.fitted = false;
    this.scale = Math.max(this.scale, 1.6);
    this.x = this.canvas.clientWidth / 2 - (cell.x + CELL / 2) * this.scale;
    this.y = this.canvas.clientHeight / 2 - (cell.y + CELL / 2) * this.scale;
    this.setCursor(host);
    this.redraw();
  }

  fit(): void {
    const {clientWidth: width, clientHeight: height} = this.canvas;
    this.fitted = true;
    if (this.layout.width === 0 || width === 0) return;
    const margin = 16;
    this.scale = Math.min(
      MAX_SCALE,
      (width - 2 * margin) / this.layout.width,
      (height - 2 * margin) / this.layout.height,
    );
    this.x = (width - this.layout.width * this.scale) / 2;
    this.y = (height - this.layout.height * this.scale) / 2;
    this.redraw();
  }

  zoom(factor: number, atX = this.canvas.clientWidth / 2, atY = this.canvas.clientHeight / 2): void {
    const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, this.scale * factor));
    this.x = atX - ((atX - this.x) * scale) / this.scale;
    this.y = atY - ((atY - this.y) * scale) / this.scale;
    this.scale = scale;
    this.fitted = false;
    this.redraw();
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.fitted = false;
    this.redraw();
  }

  // Where a host's middle is on the canvas; for tests.
  positionOf(host: number): {x: number; y: number} | null {
    const cell = this.cell(host);
    return cell && {x: this.x + (cell.x + CELL / 2) * this.scale, y: this.y + (cell.y + CELL / 2) * this.scale};
  }

  private relayout(): void {
    this.aspect = this.aspectNow();
    this.layout = layoutOf(this.scene?.segments ?? [], this.aspect);
    this.tiles = [];
    this.cursor = null;
    this.fit();
  }

  private aspectNow(): number {
    return this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight);
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    // The first report comes with the size that the map was laid out for.
    if (this.fitted && this.aspect !== this.aspectNow()) {
      this.relayout();
      this.paintTiles();
    } else if (this.fitted) {
      this.fit();
    }
    this.redraw();
  }

  private paintTiles(): void {
    const scene = this.scene;
    if (!scene) return;
    scene.segments.forEach((segment, index) => {
      const box = this.layout.segments[index];
      if (!box) return;
      const hosts = Array.from({length: segment.count}, (_, i) => segment.first + i);
      const letters = hosts.map((host) => scene.letters[host]).join('');
      const jobs = hosts.map((host) => scene.jobOf[host] ?? null);
      const faulty = hosts.map((host) => scene.degraded.has(host));
      const domains = hosts.map((host) => scene.domainOf[host] ?? -1);
      const styles = hosts.map((host, i) => this.styleOf(host, jobs[i] ?? null));
      const key = JSON.stringify([letters, jobs, faulty, this.job, domains, this.colourBy, styles.map((style) => style?.slot)]);
      const old = this.tiles[index];
      if (old?.key === key) return;
      this.tiles[index] = {
        key,
        canvas: paintTile(old?.canvas, box, hosts.map((host) => this.colourOf(host)), this.job === null ? null : jobs.map((job) => job === this.job)),
        marked: hosts.map((_, i) => i).filter((i) => faulty[i] || hasMark(letters[i])),
        edges: edgesOf(box, jobs),
        domains: edgesOf(box, domains),
        patterns: patternsOf(box, styles.map((style, i) => (this.job === null || jobs[i] === this.job ? style : null))),
        tags: tagsOf(this.context, box, jobs, (job) => scene.jobs.get(job)?.name ?? job),
      };
    });
  }

  // Null where the host has the colour of its state.
  private styleOf(host: number, job: string | null): JobStyle | null {
    if (job === null || this.colourBy !== 'job' || !OF_A_JOB.includes(this.scene?.letters[host] ?? '')) return null;
    return this.styles.get(job) ?? null;
  }

  private colourOf(host: number): string {
    const style = this.styleOf(host, this.scene?.jobOf[host] ?? null);
    if (style) return style.colour;
    return (this.colourBy === 'job' ? QUIET_COLOURS : STATE_COLOURS).get(this.scene?.letters[host] ?? '') ?? INK;
  }

  // Legible on the host's colour.
  private inkOf(host: number): string {
    if (this.colourBy === 'state') return '#ffffff';
    return this.styleOf(host, this.scene?.jobOf[host] ?? null)?.ink ?? QUIET_INKS.get(this.scene?.letters[host] ?? '') ?? INK;
  }

  private redraw(): void {
    if (this.pending !== 0) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      const begin = performance.now();
      this.draw();
      this.frameTimes.push(performance.now() - begin);
      if (this.scene && this.canvas.clientWidth > 0 && performance.getEntriesByName(FIRST_MAP).length === 0) performance.mark(FIRST_MAP);
      if (this.frameTimes.length > 600) this.frameTimes.shift();
    });
  }

  private draw(): void {
    const {context, canvas, scene} = this;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = '#ffffff';
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (!scene) return;
    context.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.x, ratio * this.y);
    context.imageSmoothingEnabled = false;
    this.drawPods();
    this.layout.segments.forEach((box, index) => {
      if (!this.inSight(box)) return;
      const tile = this.tiles[index];
      if (tile) {
        context.drawImage(tile.canvas, box.x, box.y, box.columns * CELL, tile.canvas.height * CELL);
      }
      this.drawSegment(scene, index, box);
    });
    this.drawJobNetwork(scene);
    if (this.host !== null) this.outline(this.host, INK, 2.5);
    if (this.cursor !== null) this.outline(this.cursor, INK, 1.5);
  }

  private drawPods(): void {
    const {context} = this;
    const size = 12 / this.scale;
    for (const pod of this.layout.pods) {
      context.strokeStyle = '#b3bac4';
      context.lineWidth = 1 / this.scale;
      context.strokeRect(pod.x, pod.y, pod.width, pod.height);
      if (pod.height * this.scale < 60) continue;
      context.fillStyle = INK;
      context.font = `600 ${Math.min(size, 14)}px system-ui, sans-serif`;
      context.fillText(pod.name, pod.x + 6, pod.y + 14);
    }
  }

  private drawSegment(scene: Scene, index: number, box: SegmentBox): void {
    const {context} = this;
    const segment = scene.segments[index];
    if (!segment) return;
    const cellPx = CELL * this.scale;
    if (cellPx >= 5) this.drawGrid(box, segment.count);
    if (this.scale >= 0.7) {
      context.fillStyle = INK;
      context.font = '9px system-ui, sans-serif';
      context.fillText(segment.name, box.x, box.y - 5.5, box.width * 0.6);
    }
    this.drawLoad(scene, index, box);
    if (cellPx < MARK_PX) return;
    const tile = this.tiles[index];
    if (!tile) return;
    context.save();
    context.translate(box.x, box.y);
    if (cellPx >= PATTERN_PX) {
      for (const [ink, path] of tile.patterns) {
        context.fillStyle = ink;
        context.fill(path);
      }
    }
    context.fillStyle = DOMAIN_EDGE;
    context.fill(tile.domains);
    context.fillStyle = INK;
    context.fill(tile.edges);
    context.restore();
    for (const i of tile.marked) {
      const cell = cellOf(box, i);
      if (this.inSight({...cell, width: CELL, height: CELL})) this.drawMark(scene, segment.first + i, cell.x, cell.y);
    }
    if (cellPx >= RANK_PX) this.drawRanks(scene, segment, box);
    if (cellPx >= TAG_PX) this.drawTags(tile, box);
  }

  private drawRanks(scene: Scene, segment: Segment, box: SegmentBox): void {
    const {context} = this;
    context.font = '4px system-ui, sans-serif';
    context.textAlign = 'center';
    for (let i = 0; i < segment.count; ++i) {
      const rank = scene.rankOf[segment.first + i] ?? -1;
      const cell = cellOf(box, i);
      const faded = this.job !== null && scene.jobOf[segment.first + i] !== this.job;
      if (rank < 0 || faded || !this.inSight({...cell, width: CELL, height: CELL})) continue;
      if (scene.letters[segment.first + i] === 'x') continue; // the cross stands there
      context.fillStyle = this.inkOf(segment.first + i);
      context.fillText(String(rank), cell.x + 5, cell.y + 6.9, 7);
    }
    context.textAlign = 'start';
  }

  // Names of jobs on the upper edge of their hosts, at a size that does not grow with the map.
  private drawTags(tile: Tile, box: SegmentBox): void {
    const {context} = this;
    const size = TAG_FONT_PX / this.scale;
    context.font = `${size}px system-ui, sans-serif`;
    context.lineWidth = 0.8 / this.scale;
    for (const tag of tile.tags) {
      const cell = cellOf(box, tag.first);
      const room = tag.hosts * CELL - 3 - size * 0.8;
      const letters = Math.floor((tag.name.length * room * this.scale) / tag.width);
      if (letters < 4 && letters < tag.name.length) continue;
      if (!this.inSight({...cell, width: room, height: CELL})) continue;
      const text = letters >= tag.name.length ? tag.name : `${tag.name.slice(0, letters - 1)}\u2026`;
      const width = Math.min(room, tag.width / this.scale) + size * 0.8;
      const y = cell.y - size * 0.6;
      context.fillStyle = '#ffffff';
      context.fillRect(cell.x + 1.5, y, width, size * 1.3);
      context.strokeStyle = context.fillStyle = INK;
      context.strokeRect(cell.x + 1.5, y, width, size * 1.3);
      context.fillText(text, cell.x + 1.5 + size * 0.4, y + size, width);
    }
  }

  private drawGrid(box: SegmentBox, count: number): void {
    const {context} = this;
    const line = Math.min(1.4, 1 / this.scale + 0.4);
    context.fillStyle = '#ffffff';
    for (let column = 1; column < box.columns; ++column) {
      context.fillRect(box.x + column * CELL - line / 2, box.y, line, box.height);
    }
    const rows = Math.ceil(count / box.columns);
    for (let row = 1; row < rows; ++row) {
      context.fillRect(box.x, box.y + row * CELL - line / 2, box.width, line);
    }
  }

  // A bar above the segment: the busiest uplink's load over its capacity.
  private drawLoad(scene: Scene, index: number, box: SegmentBox): void {
    const load = scene.network.segments.find(([segment]) => segment === index);
    if (!load) return;
    const {context} = this;
    const width = box.width * 0.38;
    const peak = Math.min(1, load[4]);
    const x = box.x + box.width - width;
    context.fillStyle = '#e6e9ee';
    context.fillRect(x, box.y - 8, width, 5);
    context.fillStyle = peak > 0.9 ? '#d55e00' : peak > 0.6 ? '#e69f00' : '#4b5563';
    context.fillRect(x, box.y - 8, Math.max(1, width * peak), 5);
  }

  private drawMark(scene: Scene, host: number, x: number, y: number): void {
    const {context} = this;
    const kind = KIND_OF.get(scene.letters[host] ?? '');
    const faded = this.job !== null && scene.jobOf[host] !== this.job;
    context.globalAlpha = faded ? FADED : 1;
    const ink = this.inkOf(host);
    context.strokeStyle = context.fillStyle = ink;
    context.lineWidth = kind?.mark === 'ring' ? 0.8 : 1.2;
    context.beginPath();
    switch (kind?.mark) {
      case 'cross':
        context.moveTo(x + 3, y + 3);
        context.lineTo(x + 7, y + 7);
        context.moveTo(x + 7, y + 3);
        context.lineTo(x + 3, y + 7);
        break;
      case 'slash':
        if (this.colourBy === 'state') context.strokeStyle = INK;
        context.moveTo(x + 3, y + 7);
        context.lineTo(x + 7, y + 3);
        break;
      case 'backslash':
        if (this.colourBy === 'state') context.strokeStyle = INK;
        context.moveTo(x + 2, y + 2);
        context.lineTo(x + 8, y + 8);
        break;
      case 'bar':
        context.moveTo(x + 2.5, y + 5);
        context.lineTo(x + 7.5, y + 5);
        break;
      case 'dot':
        context.arc(x + 5, y + 5, 1.4, 0, 7);
        context.fill();
        break;
      case 'ring':
        context.rect(x + 1.4, y + 1.4, 7.2, 7.2);
        break;
      default:
    }
    context.stroke();
    if (scene.degraded.has(host)) {
      context.fillStyle = this.colourBy === 'job' ? ink : INK;
      context.beginPath();
      context.moveTo(x + 1, y + 1);
      context.lineTo(x + 4, y + 1);
      context.lineTo(x + 1, y + 4);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  // Lines between the segments of the chosen job, as wide as what flows along them.
  private drawJobNetwork(scene: Scene): void {
    const network = this.job === null ? undefined : scene.jobNetworks.get(this.job);
    if (!network) return;
    const {context} = this;
    const most = Math.max(1e-9, ...network.between.map(([, , gbps]) => gbps));
    context.strokeStyle = INK;
    context.globalAlpha = 0.75;
    for (const [from, to, gbps] of network.between) {
      const a = this.layout.segments[from];
      const b = this.layout.segments[to];
      if (from === to || !a || !b) continue;
      const ax = a.x + a.width / 2, ay = a.y + a.height / 2;
      const bx = b.x + b.width / 2, by = b.y + b.height / 2;
      // Both directions bend to their right, so that neither hides the other.
      const mx = (ax + bx) / 2 - (by - ay) * 0.12, my = (ay + by) / 2 + (bx - ax) * 0.12;
      context.lineWidth = (1 + (4 * gbps) / most) / this.scale;
      context.beginPath();
      context.moveTo(ax, ay);
      context.quadraticCurveTo(mx, my, bx, by);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  private outline(host: number, colour: string, width: number): void {
    const cell = this.cell(host);
    if (!cell) return;
    this.context.strokeStyle = colour;
    this.context.lineWidth = width / this.scale;
    const grow = Math.max(1, 3 / this.scale);
    this.context.strokeRect(cell.x - grow / 2, cell.y - grow / 2, CELL + grow, CELL + grow);
  }

  private cell(host: number): {x: number; y: number} | null {
    const segment = this.scene?.segments[this.scene.segmentOf[host] ?? -1];
    const box = this.layout.segments[this.scene?.segmentOf[host] ?? -1];
    return segment && box ? cellOf(box, host - segment.first) : null;
  }

  private inSight(box: {x: number; y: number; width: number; height: number}): boolean {
    const left = this.x + box.x * this.scale;
    const top = this.y + (box.y - 20) * this.scale;
    return (
      left < this.canvas.clientWidth &&
      top < this.canvas.clientHeight &&
      left + box.width * this.scale > 0 &&
      top + (box.height + 20) * this.scale > 0
    );
  }

  private hostAt(px: number, py: number): number | null {
    const x = (px - this.x) / this.scale;
    const y = (py - this.y) / this.scale;
    for (const [index, box] of this.layout.segments.entries()) {
      if (x < box.x || y < box.y || x >= box.x + box.width || y >= box.y + box.height) continue;
      const segment = this.scene?.segments[index];
      const i = Math.floor((y - box.y) / CELL) * box.columns + Math.floor((x - box.x) / CELL);
      return segment && i < segment.count ? segment.first + i : null;
    }
    return null;
  }

  private setCursor(host: number | null): void {
    if (host === this.cursor) return;
    this.cursor = host;
    this.callbacks.onCursor(host);
    this.redraw();
  }

  private choose(host: number | null): void {
    this.callbacks.onHost(host);
    this.callbacks.onJob(host === null ? null : (this.scene?.jobOf[host] ?? null));
  }

  private pointerDown(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = {x: event.offsetX, y: event.offsetY, moved: false};
  }

  private pointerMove(event: PointerEvent): void {
    if (!this.drag) return this.setCursor(this.hostAt(event.offsetX, event.offsetY));
    const dx = event.offsetX - this.drag.x;
    const dy = event.offsetY - this.drag.y;
    if (!this.drag.moved && Math.hypot(dx, dy) < 4) return;
    this.drag = {x: event.offsetX, y: event.offsetY, moved: true};
    this.pan(dx, dy);
  }

  private pointerUp(event: PointerEvent): void {
    const drag = this.drag;
    this.drag = null;
    if (drag && !drag.moved) this.choose(this.hostAt(event.offsetX, event.offsetY));
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
  }

  private keyDown(event: KeyboardEvent): void {
    const step = this.step(event.key);
    if (step !== null) {
      this.setCursor(step);
      this.keepInSight(step);
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.choose(this.cursor);
    } else if (event.key === 'Escape') {
      this.choose(null);
    } else if (event.key === '+' || event.key === '=') {
      this.zoom(1.25);
    } else if (event.key === '-') {
      this.zoom(0.8);
    } else if (event.key === '0') {
      this.fit();
    } else {
      return;
    }
    event.preventDefault();
  }

  // The host that a key moves the cursor to. Arrows move by cells and on to the next segment at an
  // edge; PageUp and PageDown by segments.
  private step(key: string): number | null {
    const scene = this.scene;
    if (!scene || scene.hostNames.length === 0) return null;
    const now = this.cursor ?? this.host;
    const index = now === null ? 0 : (scene.segmentOf[now] ?? 0);
    const columns = this.layout.segments[index]?.columns ?? 1;
    const clamp = (host: number): number => Math.min(scene.hostNames.length - 1, Math.max(0, host));
    const first = (segment: number): number =>
      scene.segments[Math.min(scene.segments.length - 1, Math.max(0, segment))]?.first ?? 0;
    switch (key) {
      case 'ArrowRight': return now === null ? 0 : clamp(now + 1);
      case 'ArrowLeft': return now === null ? 0 : clamp(now - 1);
      case 'ArrowDown': return now === null ? 0 : clamp(now + columns);
      case 'ArrowUp': return now === null ? 0 : clamp(now - columns);
      case 'PageDown': return first(index + 1);
      case 'PageUp': return first(index - 1);
      case 'Home': return 0;
      case 'End': return scene.hostNames.length - 1;
      default: return null;
    }
  }

  private keepInSight(host: number): void {
    const at = this.positionOf(host);
    if (!at) return;
    const {clientWidth: width, clientHeight: height} = this.canvas;
    const margin = 40;
    const dx = at.x < margin ? margin - at.x : at.x > width - margin ? width - margin - at.x : 0;
    const dy = at.y < margin ? margin - at.y : at.y > height - margin ? height - margin - at.y : 0;
    if (dx !== 0 || dy !== 0) this.pan(dx, dy);
  }
}

const hasMark = (letter: string | undefined): boolean => {
  const mark = KIND_OF.get(letter ?? '')?.mark;
  return mark !== undefined && mark !== 'none' && mark !== 'fill';
};

// Lines where the hosts of one job, or domain, end and those of another begin, from the segment's
// corner.
function edgesOf<Key>(box: SegmentBox, keys: Key[]): Path2D {
  const path = new Path2D();
  keys.forEach((key, i) => {
    const x = (i % box.columns) * CELL;
    const y = Math.floor(i / box.columns) * CELL;
    if (i % box.columns !== 0 && keys[i - 1] !== key) path.rect(x - 0.5, y - 0.5, 1, CELL + 1);
    if (i >= box.columns && keys[i - box.columns] !== key) path.rect(x - 0.5, y - 0.5, CELL + 1, 1);
  });
  return path;
}

// Rows and dots above and below the ranks. Of a row that goes on over several hosts one piece.
function patternsOf(box: SegmentBox, styles: (JobStyle | null)[]): Map<string, Path2D> {
  const paths = new Map<string, Path2D>();
  for (let i = 0; i < styles.length; ++i) {
    const style = styles[i];
    if (!style || style.pattern === 'plain') continue;
    const path = paths.get(style.ink) ?? new Path2D();
    paths.set(style.ink, path);
    const begin = i;
    if (style.pattern === 'stripes') while (styles[i + 1] === style && (i + 1) % box.columns !== 0) ++i;
    const x = (begin % box.columns) * CELL;
    const y = Math.floor(begin / box.columns) * CELL;
    for (const dy of [1.2, 8]) {
      if (style.pattern === 'stripes') path.rect(x, y + dy, (i + 1 - begin) * CELL, 0.8);
      else for (const dx of [2, 7]) path.rect(x + dx, y + dy, 1.2, 1.2);
    }
  }
  return paths;
}

function tagsOf(context: CanvasRenderingContext2D, box: SegmentBox, jobs: (string | null)[], nameOf: (job: string) => string): Tag[] {
  const longest = new Map<string, {first: number; hosts: number}>();
  for (let i = 0; i < jobs.length; ) {
    const job = jobs[i] ?? null;
    const rowEnd = Math.min(jobs.length, (Math.floor(i / box.columns) + 1) * box.columns);
    let end = i + 1;
    while (end < rowEnd && jobs[end] === job) ++end;
    if (job !== null && end - i > (longest.get(job)?.hosts ?? 0)) longest.set(job, {first: i, hosts: end - i});
    i = end;
  }
  context.font = `${TAG_FONT_PX}px system-ui, sans-serif`;
  return [...longest].map(([job, row]) => ({name: nameOf(job), width: context.measureText(nameOf(job)).width, ...row}));
}

// One pixel a host. `mine`: which hosts are of the chosen job; null: no job is chosen.
function paintTile(
  old: HTMLCanvasElement | undefined, box: SegmentBox, colours: string[], mine: boolean[] | null,
): HTMLCanvasElement {
  const rows = Math.max(1, Math.ceil(colours.length / box.columns));
  const canvas = old ?? document.createElement('canvas');
  canvas.width = box.columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  if (!context) return canvas;
  const image = context.createImageData(box.columns, rows);
  const known = new Map<string, [number, number, number]>();
  colours.forEach((colour, i) => {
    const rgb = known.get(colour) ?? rgbOf(colour);
    known.set(colour, rgb);
    image.data.set(rgb, 4 * i);
    image.data[4 * i + 3] = mine === null || mine[i] ? 255 : Math.round(255 * FADED);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
