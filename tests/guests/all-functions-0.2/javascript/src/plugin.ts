// A component that calls every function of contract 0.2 and tells what it got: the host's golden vectors
// (`host/conformance/vectors/host-0.2`) say what that must be. The other roles are in `../javascript-probe` and `../javascript-pod-source`.

import { admit, validate } from './admission.ts';

export const handler = { validate, admit };
