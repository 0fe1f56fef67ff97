// The handler as the host sees it. What it decides is in policy.ts, which knows nothing of the host.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';
import { write } from 'witlet:host/log@0.2.0';

import { requiredLabel } from './policy.ts';
import { exported } from './sdk/witlet-admission.ts';

export const handler = exported(requiredLabel((line) => write('info', line, [])), { config: get, Error: HostError });
