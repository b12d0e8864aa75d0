// What would help a job that waits, as something to copy. Changes are those of
// pkg/placement/outcome.h: YAML of the job's spec, then, behind "; ", changes of the cluster.
import type {JobBlock} from './model';

export interface Advice {
  code: string; // to copy; empty: nothing to type
  text: string; // what else it takes
  outcome: string;
}

const OUTCOMES: Record<string, string> = {Placed: 'is placed', NotNow: 'can be placed, not now', Never: 'can never be placed'};

export function adviceOf(job: JobBlock, {change, outcome}: {change: string; outcome: string}): Advice {
  const end = OUTCOMES[outcome] ?? outcome;
  if (change.startsWith('backup hosts:')) return {code: 'kubectl yardmaster backup set HOST --off', text: 'for backup hosts', outcome: end};
  const [field = '', ...rest] = change.split('; ');
  if (!field.startsWith('placement:')) return {code: '', text: change, outcome: end};
  if (job.kind !== 'TrainingJob') return {code: field, text: ['which only the spec of a TrainingJob has', ...rest].join('; '), outcome: end};
  return {code: `kubectl patch trainingjob ${job.name} -n ${job.namespace} --type merge -p 'spec: {${field}}'`, text: rest.join('; '), outcome: end};
}
