// The probe type as the host sees it. What it finds out is in greeting.ts, which knows nothing of the host.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';

import { greets } from './greeting.ts';
import { exported } from './sdk/witlet-probe.ts';
import { connect } from './sdk/witlet-tcp.ts';

export const prober = exported(greets(connect), { config: get, Error: HostError });
