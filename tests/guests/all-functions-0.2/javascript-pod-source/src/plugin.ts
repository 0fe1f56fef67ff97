// The role pod source of `../javascript`.

import { notify, poll, validate } from './source.ts';

export const source = { validate, poll };
export const feedback = { notify };
