// The handler as the host sees it. What it decides is in the modules next to it, which know nothing of the host.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';

import { policies } from './policies.ts';
import { exported } from './sdk/witlet-admission.ts';

export const handler = exported(policies, { config: get, Error: HostError });
