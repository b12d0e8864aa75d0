// Links, planes, segments and domains as tables.
import {formatGbps} from './format';
import {groupLinks, linkName, placeName} from './links';
import {HOST_KINDS, type Scene} from './model';
import {JobButton, Level, type View, useRows} from './parts';

// Whether there is anything to say of links.
export const hasLinks = ({network, down}: Scene): boolean =>
  !network.known || network.problem !== null || network.busiest.length > 0 || down.length > 0;

export function Links(view: View) {
  const {network, down} = view.scene;
  return (
    <>
      {(!network.known || network.problem) && <p class="empty">{network.problem ?? 'Not known yet.'}</p>}
      <Planes scene={view.scene} />
      {down.length > 0 && <p class="warning">Down: {down.slice(0, 5).map(linkName).join('; ')}{down.length > 5 ? ', ...' : ''}</p>}
      {network.busiest.length > 0 && <Busiest {...view} />}
    </>
  );
}

const shortList = (names: string[]): string => names.slice(0, 4).join(', ') + (names.length > 4 ? ` and ${names.length - 4} more` : '');

function Busiest(view: View) {
  const {network} = view.scene;
  const groups = groupLinks(network.busiest);
  const shared = network.segments.reduce((sum, [, , count]) => sum + count, 0);
  const [first] = network.busiest;
  return (
    <>
      <p class="empty">{shared === 0 ? 'No uplink is shared by two jobs.' : `${shared} ${shared === 1 ? 'uplink is' : 'uplinks are'} shared by two jobs or more.`}
        {groups.length === 0 && first && ` No link between switches carries 1 % of what it can. The busiest: ${first.name ?? linkName(first.link)}, ${formatGbps(first.gbps)} of ${formatGbps(first.capacity)}.`}</p>
      {groups.length > 0 && <div class="scroll">
        <table class="links">
          <thead><tr><th scope="col">Link</th><th scope="col">Load</th><th scope="col">Jobs (level)</th></tr></thead>
          <tbody>
            {groups.map(({title, details, names, switches, links, percent, busiest}) => (
              <tr key={names[0]}>
                <th scope="row" title={names.join('\n')}><b>{title}</b>{links > 1 && `, ${links} links`}<div>{details}</div>{switches.length > 0 && <div>{shortList(switches)}</div>}</th>
                <td class="load">
                  <meter min={0} max={1} high={0.9} value={Math.min(1, busiest.gbps / busiest.capacity)} aria-label={`load of ${title} ${details}`} /> {percent} %
                  <div>{formatGbps(busiest.gbps)}<span class="wide"> of {formatGbps(busiest.capacity)}</span></div>
                </td>
                <td>{busiest.jobs.map(([job, level]) => <div key={job}><JobButton job={job} view={view} /> <Level level={level} /></div>)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>}
    </>
  );
}

function Planes({scene}: {scene: Scene}) {
  const planes = scene.network.planes ?? [];
  if (!planes.some(([uplinks, , , , down]) => uplinks > 0 || down > 0)) return null;
  return (
    <table class="planes">
      <thead><tr><th scope="col">Plane</th><th scope="col">Busiest uplink</th><th scope="col">Sent up</th><th scope="col">Shared</th><th scope="col">Down</th></tr></thead>
      <tbody>
        {planes.map(([uplinks, shared, gbps, peak, down], plane) => (
          <tr key={plane} class={down > 0 ? 'warning' : ''}>
            <th scope="row">{plane}</th><td>{Math.round(100 * peak)} %</td><td>{formatGbps(gbps)}</td>
            <td>{shared} of {uplinks}</td><td>{down === 0 ? '-' : `${down} ${down === 1 ? 'cable' : 'cables'}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function SegmentsTable({scene}: {scene: Scene}) {
  const loads = new Map(scene.network.segments.map((load) => [load[0], load[4]]));
  const kinds = HOST_KINDS.filter(({letter}) => (scene.totals.hosts[letter] ?? 0) > 0);
  return (
    <div class="scroll">
      <table>
        <thead><tr><th scope="col">Segment</th>{kinds.map((kind) => <th scope="col" key={kind.letter}>{kind.name}</th>)}<th scope="col">Busiest uplink</th></tr></thead>
        <tbody>
          {scene.segments.map((segment, index) => {
            const letters = scene.letters.slice(segment.first, segment.first + segment.count);
            const load = loads.get(index);
            return (
              <tr key={index}>
                <th scope="row">{placeName(segment.pod, segment.name)}</th>
                {kinds.map((kind) => <td key={kind.letter}>{letters.filter((l) => l === kind.letter).length || ''}</td>)}
                <td>{load === undefined ? '-' : `${Math.round(load * 100)} %`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

// Those with free hosts first: where the next group fits.
export function DomainsTable(view: View) {
  const {scene} = view;
  const domains = scene.domainNames.map((name) => ({name, segment: '', hosts: 0, free: 0, jobs: new Set<string>()}));
  scene.hostNames.forEach((_, host) => {
    const domain = domains[scene.domainOf[host] ?? -1];
    const segment = scene.segments[scene.segmentOf[host] ?? -1];
    if (!domain || !segment) return;
    domain.segment = placeName(segment.pod, segment.name);
    ++domain.hosts;
    if (scene.letters[host] === 'f') ++domain.free;
    const job = scene.jobOf[host];
    if (job) domain.jobs.add(job);
  });
  domains.sort((a, b) => b.free - a.free);
  const [rows, more] = useRows(domains);
  return (
    <>
      <div class="scroll"><table class="domains">
        <thead><tr><th scope="col">Domain</th><th scope="col">Segment</th><th scope="col">Free</th><th scope="col">Jobs</th></tr></thead>
        <tbody>
          {rows.map(({name, segment, hosts, free, jobs}) => (
            <tr key={`${segment}/${name}`}>
              <th scope="row">{name}</th><td>{segment}</td><td>{free} of {hosts}</td>
              <td>{[...jobs].map((job) => <div key={job}><JobButton job={job} view={view} /></div>)}</td>
            </tr>
          ))}
        </tbody>
      </table></div>
      {more}
    </>
  );
}
