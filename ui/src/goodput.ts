// How much of a job's GPU time brought it further.
import type {JobBlock} from './model';

export interface Goodput {
  share: number; // of the GPU time since all of its workers ran first
  lostSeconds: number; // GPU time
  causes: [string, number][]; // of it, the largest first
}

// Null for a job that never ran. What was lost before a job was suspended counts, the time before
// does not: after that the share is a lower bound.
export function goodputOf(job: JobBlock, nowMs: number): Goodput | null {
  const {work} = job;
  if (!work) return null;
  const untilMs = work.untilMs ?? nowMs;
  const causes = Object.entries(work.lost);
  if (work.stoppedMs !== null && work.untilMs === null) {
    causes.push(['not over yet', (job.gpus * Math.max(0, nowMs - work.stoppedMs)) / 1000]);
  }
  const lostSeconds = causes.reduce((sum, [, seconds]) => sum + seconds, 0);
  const allSeconds = (job.gpus * Math.max(0, untilMs - work.sinceMs)) / 1000;
  const share = allSeconds > 0 ? Math.min(1, Math.max(0, 1 - lostSeconds / allSeconds)) : 1;
  return {share, lostSeconds, causes: causes.sort(([, a], [, b]) => b - a)};
}
