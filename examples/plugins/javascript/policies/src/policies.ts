// All policies: a plugin's entry picks one, `config: {policy: noPrivileged}`. Take the file that a policy of yours is closest to.

import * as host from './host.ts';
import * as images from './images.ts';
import * as metadata from './metadata.ts';
import * as node from './node.ts';
import * as resources from './resources.ts';
import { oneOf } from './sdk/witlet-admission.ts';
import * as security from './security.ts';

export const POLICIES = { ...images, ...security, ...host, ...resources, ...metadata, ...node };

export const policies = oneOf(POLICIES);
