// The source as the host sees it. What it has is in pods.ts, which knows nothing of the host.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';
import { write } from 'witlet:host/log@0.2.0';

import { ownPods } from './pods.ts';
import { exported } from './sdk/witlet-source.ts';

export const source = exported(ownPods((line) => write('debug', line, [])), { config: get, Error: HostError });
