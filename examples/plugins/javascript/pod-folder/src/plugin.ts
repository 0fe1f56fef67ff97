// The source as the host sees it. What it makes of files is decided in pods.ts, which knows nothing of the host.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';
import { write } from 'witlet:host/log@0.2.0';

import { readFolder } from './folder.ts';
import { folder } from './pods.ts';
import { exported, exportedFeedback } from './sdk/witlet-source.ts';

const host = { config: get, Error: HostError };
const pods = folder({ readFolder, warn: (line) => write('warn', line, []) });

export const source = exported(pods, host);
export const feedback = exportedFeedback(pods, host);
