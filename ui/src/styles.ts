// A colour and a pattern for every job that holds hosts.
//
// A job's name chooses its colour; where another job has it, the next one that is free. A job keeps
// what it has for as long as the page is open, so that others come and go without changing it. The
// largest jobs are served first. With more jobs than colours patterns tell them apart, and with more
// than both the lines between jobs and their names on the map; ../check-colours measures the
// colours.
import {type Scene, hasEnded} from './model';

export const JOB_COLOURS = ['#5533ee', '#ddcc33', '#335511', '#99bbee', '#995566', '#44ee88', '#441155', '#aa66ee'] as const;
export const PATTERNS = ['plain', 'stripes', 'dots'] as const;
const SLOTS = JOB_COLOURS.length * PATTERNS.length;
const INK = '#1b1f24';

export interface JobStyle {
  slot: number; // index of the colour + JOB_COLOURS.length * index of the pattern
  colour: string;
  ink: string; // legible on it
  pattern: (typeof PATTERNS)[number];
}
export type Styles = ReadonlyMap<string, JobStyle>; // by NAMESPACE/GANG

// FNV-1a.
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}

export const rgbOf = (colour: string): [number, number, number] =>
  [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];

// White or ink, whichever has the higher contrast on a colour (WCAG 2).
export function inkOn(colour: string): string {
  const [r = 0, g = 0, b = 0] = rgbOf(colour).map((part) => {
    const p = part / 255;
    return p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? INK : '#ffffff';
}

const STYLES: readonly JobStyle[] = PATTERNS.flatMap((pattern, p) =>
  JOB_COLOURS.map((colour, c) => ({slot: p * JOB_COLOURS.length + c, colour, ink: inkOn(colour), pattern})));

export class JobStyles {
  private readonly slots = new Map<string, number>();

  of(scene: Scene): Styles {
    const jobs = [...scene.jobs].filter(([, job]) => job.hosts.length > 0 && !hasEnded(job));
    const taken = new Set<number>();
    const styles = new Map<string, JobStyle>();
    const give = (key: string, slot: number): void => {
      this.slots.set(key, slot);
      taken.add(slot);
      const style = STYLES[slot];
      if (style) styles.set(key, style);
    };
    const fresh = jobs.filter(([key]) => {
      const slot = this.slots.get(key);
      if (slot === undefined || taken.has(slot)) return true;
      give(key, slot);
      return false;
    });
    fresh.sort(([a, x], [b, y]) => y.hosts.length - x.hosts.length || (a < b ? -1 : 1));
    for (const [key] of fresh) give(key, freeSlot(hashOf(key), taken));
    return styles;
  }
}

// The first that is free from the hash's colour on, plain ones before patterns.
function freeSlot(hash: number, taken: Set<number>): number {
  const colours = JOB_COLOURS.length;
  for (let i = 0; taken.size < SLOTS && i < SLOTS; ++i) {
    const slot = Math.floor(i / colours) * colours + ((hash + i) % colours);
    if (!taken.has(slot)) return slot;
  }
  return hash % SLOTS;
}
