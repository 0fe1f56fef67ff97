// The role probe of `../javascript`.

import { checkParameters, probe, validate } from './probe.ts';

export const prober = { validate, checkParameters, probe };
