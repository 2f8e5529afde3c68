// Without zod, which an idle delivery process does not load.

export const JOB_KINDS = ['email', 'webhook'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** The version of the job shapes in `delivery-job.ts`; a worker claims only versions that it knows. */
export const JOB_VERSION = 1;
