// Keeps Blocks up to date by the operator's events, and fetches frames of the past.
//
// Every response of api/events ends after one event, and EventSource asks for the next by itself; so
// an ended response is not a lost connection. Addresses are relative: the page may stand behind the
// API server's proxy.
import {Blocks, type Change, type Paths, type Scene, sceneOf} from './model';

const SILENCE_MS = 40_000; // longer than the operator holds a request
const REOPEN_MS = 2_000;

export type Connection = 'connecting' | 'live' | 'lost';

export class Feed {
  private readonly blocks = new Blocks();
  private source: EventSource | null = null;
  private lastContact = Date.now();
  private state: Connection = 'connecting';

  constructor(
    private readonly onScene: (scene: Scene) => void,
    private readonly onState: (state: Connection) => void,
  ) {
    this.open();
    setInterval(() => {
      if (Date.now() - this.lastContact > SILENCE_MS) this.setState('lost');
    }, 2_000);
  }

  private open(): void {
    this.source?.close();
    const source = new EventSource('api/events');
    this.source = source;
    source.onopen = () => this.contact();
    source.onmessage = (event: MessageEvent<string>) => {
      this.contact();
      if (this.blocks.apply(JSON.parse(event.data) as Change)) {
        this.onScene(sceneOf(this.blocks));
      } else {
        this.open(); // without an id: everything is sent
      }
    };
    source.onerror = () => {
      // An answer other than 200 ends an EventSource for good.
      if (source.readyState !== EventSource.CLOSED || source !== this.source) return;
      this.setState('lost');
      setTimeout(() => source === this.source && this.open(), REOPEN_MS);
    };
  }

  private contact(): void {
    this.lastContact = Date.now();
    this.setState('live');
  }

  private setState(state: Connection): void {
    if (state !== this.state) this.onState((this.state = state));
  }
}

async function read<T>(address: string): Promise<T> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as T;
}

// [id, time] of every frame that the operator keeps, oldest first.
export const readFrames = (): Promise<[number, number][]> => read('api/frames');

export async function readFrame(id: number): Promise<Scene> {
  const blocks = new Blocks();
  blocks.apply(await read<Change>(`api/frame?id=${id}`));
  return sceneOf(blocks);
}

export const readPaths = (job: string): Promise<Paths> => read(`api/paths?job=${encodeURIComponent(job)}`);
