// Links as people name them, and those that are alike as one.
//
// The operator's names are those of pkg/fabric/network.h: POD/SEGMENT/ROLE-rRAIL-pPLANE-NUMBER:uPORT.up
// between switches, HOST:rRAILpPORT.up at a host; parts that a tier does not have are left out.
import {formatRanges} from './format';
import type {BusyLink} from './model';

const SWITCH_LINK = /^(?:(.+)\/)?([^/]+?)(?:-r(\d+))?(?:-p(\d+))?(?:-(\d+))?:u(\d+)(?:\.(up|down))?(?: and (\d+) alike)?$/;
const HOST_LINK = /^(.+):r(\d+)p(\d+)(?:\.(up|down))?$/;
const ROLES: Record<string, string> = {tor: 'ToR', agg: 'Agg', core: 'Core'};

// "p00", "p00s01" -> "p00s01"; "pod-a", "s01" -> "pod-a/s01".
export const placeName = (pod: string, segment: string): string => (segment.startsWith(pod) ? segment : `${pod}/${segment}`);

interface SwitchLink {
  place: string; // of the lower switch
  role: string;
  rail: number | null;
  plane: number | null;
  number: number | null;
  port: number;
  way: string;
  links: number;
}

function parse(name: string): SwitchLink | null {
  const match = SWITCH_LINK.exec(name);
  if (!match) return null;
  const numbers = [3, 4, 5].map((i) => (match[i] === undefined ? null : Number(match[i])));
  const [pod = '', segment] = (match[1] ?? '').split('/');
  const role = match[2] ?? '';
  return {
    place: segment === undefined ? pod : placeName(pod, segment),
    role: ROLES[role] ?? role,
    rail: numbers[0] ?? null,
    plane: numbers[1] ?? null,
    number: numbers[2] ?? null,
    port: Number(match[6]),
    way: match[7] ?? '',
    links: 1 + Number(match[8] ?? 0),
  };
}

const some = (word: string, numbers: Iterable<number | null>): string[] => {
  const known = [...new Set(numbers)].filter((n): n is number => n !== null);
  return known.length === 0 ? [] : [`${word}${known.length > 1 ? 's' : ''} ${formatRanges(known)}`];
};

function detailsOf(links: SwitchLink[]): string {
  const parts = [
    ...some('rail', links.map((l) => l.rail)), ...some('plane', links.map((l) => l.plane)),
    ...some('switch', links.map((l) => l.number)), ...some('uplink', links.map((l) => l.port)),
  ];
  return `${links[0]?.role} ${parts.join(', ')}`;
}

// "p00/p00s00/tor-r0-p1:u16.up" -> "p00s00 ToR rail 0, plane 1, uplink 16, up"; "h3:r0p1.up" -> "h3 rail 0,
// port 1, up". A name of another form stays as it is.
export function linkName(name: string): string {
  const link = parse(name);
  if (link) return `${link.place} ${detailsOf([link])}${link.way && `, ${link.way}`}`.trim();
  const host = HOST_LINK.exec(name);
  return host ? `${host[1]} rail ${host[2]}, port ${host[3]}${host[4] === undefined ? '' : `, ${host[4]}`}` : name;
}

// Links of one place, direction and load with the same jobs.
export interface LinkGroup {
  title: string; // "p00s00 up"
  details: string; // "ToR rails 0-7, plane 1, uplinks 16-19"
  names: string[];
  switches: string[]; // what operators call them, where they have names of their own
  links: number;
  percent: number; // rounded
  busiest: BusyLink;
}

const ownSwitch = (link: BusyLink): string[] => (link.name === undefined ? [] : [link.name.slice(0, link.name.indexOf(':'))]);

const percentOf = (link: BusyLink): number => Math.round((100 * link.gbps) / link.capacity);

// Those that carry one percent of their capacity or more, busiest first.
export function groupLinks(busiest: BusyLink[]): LinkGroup[] {
  const groups = new Map<string, {members: SwitchLink[]; group: LinkGroup}>();
  for (const link of busiest) {
    const percent = percentOf(link);
    if (percent < 1) continue;
    const parsed = parse(link.link);
    const key = parsed
      ? JSON.stringify([parsed.place, parsed.role, parsed.way, percent, link.jobs.map(([job, level]) => [job, level])])
      : link.link;
    const known = groups.get(key);
    if (known && parsed) {
      known.members.push(parsed);
      known.group.names.push(link.name ?? link.link);
      known.group.switches = [...new Set([...known.group.switches, ...ownSwitch(link)])];
      known.group.links += parsed.links;
      continue;
    }
    const title = parsed ? `${parsed.place} ${parsed.way}`.trim() : link.link;
    groups.set(key, {members: parsed ? [parsed] : [], group: {title, details: '', names: [link.name ?? link.link], switches: ownSwitch(link), links: parsed?.links ?? 1, percent, busiest: link}});
  }
  return [...groups.values()].map(({members, group}) => ({...group, details: members.length > 0 ? detailsOf(members) : ''}));
}
