// The source as the host sees it.

import { get } from 'witlet:host/config@0.1.0';
import { write } from 'witlet:host/log@0.1.0';

import { readFolder } from './folder.js';
import { scan, parseConfig } from './pods.js';

/** @typedef {typeof import('witlet:pod-source/source@0.1.0')} Source */

/** @type {{ validate: Source['validate'], poll: Source['poll'] }} */
export const source = {
  validate(config) {
    parseConfig(config);
  },

  poll(cursor) {
    const { folder } = parseConfig(get());
    const result = scan(readFolder(folder), cursor);
    write('debug', `the files are ${result.snapshot.tag}`, [['folder', folder]]);
    return result;
  },
};
