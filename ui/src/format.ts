// Figures and times as people read them.

export function formatGbps(gbps: number): string {
  if (gbps >= 1000) return `${(gbps / 1000).toFixed(1)} Tb/s`;
  if (gbps < 0.1) return `${Number((gbps * 1000).toPrecision(2))} Mb/s`;
  return `${gbps >= 10 ? gbps.toFixed(0) : gbps.toFixed(1)} Gb/s`;
}

export function formatAgo(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min ago` : `${Math.round(minutes / 60)} h ago`;
}

// 0.9987 -> "99.9 %": never more than it is.
export function formatShare(share: number): string {
  return `${Math.floor(share * 1000) / 10} %`;
}

export function formatTime(ms: number): string {
  const time = new Date(ms);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

// 1.23e15 -> "1.23 P".
export function formatLarge(value: number): string {
  const units = ['', ' k', ' M', ' G', ' T', ' P', ' E'];
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    ++unit;
  }
  return `${Number(value.toPrecision(3))}${units[unit]}`;
}

// [0, 1, 2, 5] -> "0-2, 5".
export function formatRanges(numbers: number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const runs: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i + 1;
    while (end < sorted.length && sorted[end] === (sorted[end - 1] ?? 0) + 1) ++end;
    runs.push(end - i === 1 ? `${sorted[i]}` : `${sorted[i]}-${sorted[end - 1]}`);
    i = end;
  }
  return runs.join(', ');
}
