// The page: one store of what is shown, the map, and the panels beside it.
import {render} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {type Connection, Feed, readFrame, readFrames} from './feed';
import {formatAgo, formatTime} from './format';
import {JobsTable, Moves, Queue} from './jobs';
import {type ColourBy, FabricMap} from './map';
import {type Scene, describeHost} from './model';
import {DomainsTable, Links, SegmentsTable, hasLinks} from './network';
import {Costs, Events, HostDetails, JobDetails, Legend, rentingJobs} from './panels';
import {type Actions, type Choice, Section, type View} from './parts';
import {JobStyles} from './styles';

const FRAMES_EVERY_MS = 10_000;

declare global {
  interface Window {
    fabricMap?: FabricMap; // for tests that measure and click
  }
}

function MapCanvas(props: {view: View; colourBy: ColourBy; onCursor(host: number | null): void; mapRef(map: FabricMap): void}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<FabricMap | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    if (!canvas.current) return;
    map.current = new FabricMap(canvas.current, {
      onHost: (host) => latest.current.view.actions.chooseHost(host ?? -1),
      onJob: (job) => latest.current.view.actions.chooseJob(job),
      onCursor: (host) => latest.current.onCursor(host),
    });
    window.fabricMap = map.current;
    props.mapRef(map.current);
  }, []);
  const {scene, choice, styles} = props.view;
  useEffect(() => map.current?.setScene(scene, styles, props.colourBy), [scene, styles, props.colourBy]);
  useEffect(() => map.current?.select(choice.job, choice.host), [choice.job, choice.host]);
  return (
    <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="map of the fabric"
      aria-label="Hosts by segment. Arrow keys move from host to host, Page Up and Page Down by segment, Enter chooses, plus and minus zoom, 0 shows everything, Escape clears. The table of segments below has the same facts." />
  );
}

// The last hour as a slider; the newest frame is live.
function TimeTravel(props: {scene: Scene; live: boolean; onScene(scene: Scene | null): void}) {
  const [frames, setFrames] = useState<[number, number][]>([]);
  const [problem, setProblem] = useState('');
  const wanted = useRef(0);
  useEffect(() => {
    const read = (): void => void readFrames().then(setFrames, () => undefined);
    read();
    const timer = setInterval(read, FRAMES_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const last = frames.length - 1;
  const at = props.live ? last : Math.max(0, frames.findIndex(([id]) => id >= props.scene.frame));
  const goTo = (index: number): void => {
    const id = frames[index]?.[0];
    if (index >= last || id === undefined) return goLive();
    wanted.current = id;
    readFrame(id).then(
      (scene) => {
        setProblem('');
        if (wanted.current === id) props.onScene(scene);
      },
      (error: Error) => setProblem(error.message),
    );
  };
  const goLive = (): void => {
    wanted.current = 0;
    setProblem('');
    props.onScene(null);
  };
  return (
    <div class="travel">
      <label for="time">Time</label>
      <input id="time" type="range" min={0} max={Math.max(0, last)} value={at < 0 ? last : at} disabled={last < 1}
        aria-valuetext={props.live ? 'now' : `${formatTime(props.scene.timeMs)}, ${formatAgo(Date.now() - props.scene.timeMs)}`}
        onInput={(event) => goTo(Number(event.currentTarget.value))} />
      <output>{problem || (props.live ? 'live' : `as it was at ${formatTime(props.scene.timeMs)}`)}</output>
      <button type="button" onClick={goLive} disabled={props.live}>Back to now</button>
    </div>
  );
}

function Search(props: {scene: Scene; actions: Actions; onShow(host: number): void}) {
  const input = useRef<HTMLInputElement>(null);
  const [answer, setAnswer] = useState('');
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  const find = (text: string): void => {
    const wanted = text.trim().toLowerCase();
    if (wanted === '') return setAnswer('');
    const host = props.scene.hostNames.findIndex((name) => name.toLowerCase() === wanted);
    const job = [...props.scene.jobs].find(([, block]) => block.name.toLowerCase() === wanted || `${block.namespace}/${block.name}`.toLowerCase() === wanted);
    if (host >= 0) {
      props.actions.chooseHost(host);
      props.actions.chooseJob(props.scene.jobOf[host] ?? null);
      props.onShow(host);
      setAnswer('');
    } else if (job) {
      props.actions.chooseJob(job[0]);
      setAnswer('');
    } else {
      setAnswer('no such host or job');
    }
  };
  const names = useMemo(() => [...props.scene.jobs.values()].map((job) => `${job.namespace}/${job.name}`), [props.scene]);
  return (
    <form class="search" role="search" onSubmit={(event) => { event.preventDefault(); find(input.current?.value ?? ''); }}>
      <input ref={input} type="search" list="names" placeholder="Host or job ( / )" aria-label="Find a host or a job by its name" />
      <datalist id="names">{names.slice(0, 500).map((name) => <option key={name} value={name} />)}</datalist>
      <button type="submit">Find</button>
      <output>{answer}</output>
    </form>
  );
}

function App() {
  const [live, setLive] = useState<Scene | null>(null);
  const [past, setPast] = useState<Scene | null>(null);
  const [connection, setConnection] = useState<Connection>('connecting');
  const [choice, setChoice] = useState<Choice>({job: null, host: null});
  const [cursor, setCursor] = useState<number | null>(null);
  const [colourBy, setColourBy] = useState<ColourBy>('job');
  const map = useRef<FabricMap | null>(null);
  const jobStyles = useMemo(() => new JobStyles(), []);
  useEffect(() => void new Feed(setLive, setConnection), []);
  const actions = useMemo<Actions>(() => ({
    chooseJob: (job) => setChoice((old) => ({...old, job})),
    chooseHost: (host) => setChoice((old) => ({...old, host: host < 0 ? null : host})),
  }), []);

  const scene = past ?? live;
  const styles = useMemo(() => (scene ? jobStyles.of(scene) : new Map()), [scene]);
  if (!scene) {
    return <p class="loading" role="status">{connection === 'lost' ? 'The operator does not answer; trying again.' : 'Reading the cluster ...'}</p>;
  }
  const host = choice.host !== null && choice.host < scene.hostNames.length ? choice.host : null;
  const view: View = {scene, choice: {job: choice.job, host}, actions, styles};
  const renting = rentingJobs(scene).length;
  const placed = scene.jobs.size - scene.queue.length;
  const showHost = (number: number): void => map.current?.show(number);
  return (
    <>
      <header>
        <h1>Yardmaster <span>{scene.fabric.name ?? 'no fabric'}</span></h1>
        <Search scene={scene} actions={actions} onShow={showHost} />
        <p class={`connection ${connection}`} role="status">
          {past ? 'the past' : connection === 'live' ? 'live' : connection === 'lost' ? `no answer since ${formatTime(scene.timeMs)}` : 'connecting'}
        </p>
      </header>
      <Legend view={view} colourBy={colourBy} onColourBy={setColourBy} />
      <main>
        <div class="map">
          <MapCanvas view={view} colourBy={colourBy} onCursor={setCursor}
            mapRef={(made) => { map.current = made; }} />
          <div class="zoom" role="group" aria-label="Zoom">
            <button type="button" aria-label="Zoom in" onClick={() => map.current?.zoom(1.4)}>+</button>
            <button type="button" aria-label="Zoom out" onClick={() => map.current?.zoom(1 / 1.4)}>-</button>
            <button type="button" aria-label="Show everything" onClick={() => map.current?.fit()}>0</button>
          </div>
          <p class="cursor" aria-live="polite">{cursor === null ? '' : describeHost(scene, cursor)}</p>
          {scene.fabric.problem && <p class="warning">{scene.fabric.problem}</p>}
          <TimeTravel scene={scene} live={past === null} onScene={setPast} />
        </div>
        <aside>
          {(choice.job !== null || host !== null) && (
            <section class="section details" aria-label="Chosen">
              <button type="button" class="close" aria-label="Clear the choice" onClick={() => setChoice({job: null, host: null})}>&times;</button>
              {host !== null && <HostDetails view={view} host={host} />}
              {choice.job !== null && <JobDetails view={view} job={choice.job} live={past === null} />}
            </section>
          )}
          {scene.jobs.size === 0 && <p class="section empty">No job is placed and none waits.</p>}
          {scene.queue.length > 0 && <Section id="queue" title="Queue" count={scene.queue.length}>{() => <Queue {...view} />}</Section>}
          {scene.moves.length > 0 && <Section id="moves" title="Moves proposed" count={scene.moves.length}>{() => <Moves {...view} />}</Section>}
          {placed > 0 && <Section id="jobs" title="Jobs" count={placed}>{() => <JobsTable {...view} />}</Section>}
          {renting > 0 && <Section id="costs" title="Cost of rented hosts" count={renting}>{() => <Costs {...view} />}</Section>}
          {hasLinks(scene) && <Section id="links" title="Busiest links">{() => <Links {...view} />}</Section>}
          {scene.events.length > 0 && <Section id="events" title="What happened">{() => <Events {...view} />}</Section>}
          {scene.segments.length > 0 && (
            <Section id="segments" title="Segments" count={scene.segments.length} open={false}>{() => <SegmentsTable scene={scene} />}</Section>
          )}
          {scene.domainNames.length > 0 && (
            <Section id="domains" title="Domains" count={scene.domainNames.length} open={false}>{() => <DomainsTable {...view} />}</Section>
          )}
          {scene.warnings.length > 0 && (
            <Section id="warnings" title="Cannot be used" count={scene.warnings.length} open={false}>
              {() => <ul class="events">{scene.warnings.map((line, i) => <li key={i}>{line}</li>)}</ul>}
            </Section>
          )}
        </aside>
      </main>
    </>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
