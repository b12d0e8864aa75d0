// Where everything stands on the map, in units of the map: one host is a cell of CELL by CELL.
import type {Segment} from './model';

export const CELL = 10;
const TITLE = 14; // above a segment, above a fabric pod
const GAP = 12; // between segments
const POD_GAP = 28;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}
export interface SegmentBox extends Box {
  columns: number;
}
export interface Layout {
  segments: SegmentBox[]; // of the cells alone; the title stands above
  pods: (Box & {name: string})[];
  width: number;
  height: number;
}

// Columns of a grid of `count` boxes whose shape comes nearest to `aspect` (width over height).
function columnsFor(count: number, width: number, height: number, aspect: number): number {
  let best = 1;
  let distance = Infinity;
  for (let columns = 1; columns <= count; ++columns) {
    const shape = (columns * width) / (Math.ceil(count / columns) * height);
    const d = Math.abs(Math.log(shape / aspect));
    if (d < distance) [best, distance] = [columns, d];
  }
  return best;
}

export function layoutOf(segments: Segment[], aspect: number): Layout {
  const byPod = new Map<string, number[]>();
  segments.forEach((segment, index) => {
    byPod.set(segment.pod, [...(byPod.get(segment.pod) ?? []), index]);
  });
  const most = Math.max(1, ...segments.map((segment) => segment.count));
  const columns = columnsFor(most, 1, 1, 2.2);
  const segmentWidth = columns * CELL;
  const segmentHeight = Math.ceil(most / columns) * CELL + TITLE;
  const mostSegments = Math.max(1, ...[...byPod.values()].map((list) => list.length));
  const across = columnsFor(mostSegments, segmentWidth + GAP, segmentHeight + GAP, Math.min(aspect, 1.6));
  const podWidth = across * (segmentWidth + GAP) + GAP;
  const podHeight = Math.ceil(mostSegments / across) * (segmentHeight + GAP) + GAP + TITLE;
  const podsAcross = columnsFor(byPod.size, podWidth + POD_GAP, podHeight + POD_GAP, aspect);

  const layout: Layout = {segments: [], pods: [], width: 0, height: 0};
  let number = 0;
  for (const [name, list] of byPod) {
    const x = (number % podsAcross) * (podWidth + POD_GAP);
    const y = Math.floor(number / podsAcross) * (podHeight + POD_GAP);
    ++number;
    layout.pods.push({name, x, y, width: podWidth, height: podHeight});
    list.forEach((index, i) => {
      layout.segments[index] = {
        x: x + GAP + (i % across) * (segmentWidth + GAP),
        y: y + TITLE + GAP + Math.floor(i / across) * (segmentHeight + GAP) + TITLE,
        width: segmentWidth,
        height: segmentHeight - TITLE,
        columns,
      };
    });
    layout.width = Math.max(layout.width, x + podWidth);
    layout.height = Math.max(layout.height, y + podHeight);
  }
  return layout;
}

export function cellOf(box: SegmentBox, index: number): {x: number; y: number} {
  return {
    x: box.x + (index % box.columns) * CELL,
    y: box.y + Math.floor(index / box.columns) * CELL,
  };
}
