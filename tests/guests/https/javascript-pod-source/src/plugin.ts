// The source as the host sees it.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';

import { https } from './polling.ts';
import { request, within } from './sdk/witlet-http.ts';
import { exported } from './sdk/witlet-source.ts';

const MILLISECONDS = 5000;
const MANIFEST_BYTES_MAX = 1 << 20;

const ask = (url: string) => request(url, within(MILLISECONDS), { bodyBytesMax: MANIFEST_BYTES_MAX });

export const source = exported(https(ask), { config: get, Error: HostError });
